"""Files of jobs: on this machine (fs) and on HDFS (hdfs)."""
