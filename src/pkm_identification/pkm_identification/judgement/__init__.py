"""Assessment: excited parameters, their significance, score of further columns, force prediction error."""
