"""Pictures of fields, profiles, exchanges and timelines, films, and the HTML report of a run."""
