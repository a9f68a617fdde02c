"""The exercises of the notebooks: their checker, truths and known mistakes."""
