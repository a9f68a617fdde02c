"""Success, retention and recovery, with intervals."""
