"""What the end-to-end tests stand on: a private server (server) and real data sets loaded into it (data)."""
