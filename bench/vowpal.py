"""Vowpal Wabbit's command line from its Python package: `vowpal.py STARTED OPTION...`; prints what starting took."""

import json
import sys
import time

import vowpalwabbit

print(json.dumps({"wall": time.time() - float(sys.argv[1]), "cpu": time.process_time()}), flush=True)
vowpalwabbit.Workspace(arg_list=sys.argv[2:])
