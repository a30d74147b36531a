"""What is drawn: fields, profiles, films, exchanges, timelines, and the page of a run."""
