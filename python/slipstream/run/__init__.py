"""Runs a case: plan, time loop, checkpoints, fields and reports."""
