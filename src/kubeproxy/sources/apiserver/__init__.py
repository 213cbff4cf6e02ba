"""An API server as a source of Changes: which one, who we are to it, and how its lists are followed."""
