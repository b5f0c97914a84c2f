#!/bin/sh
# One load of each kind of etcd's benchmark. The only argument is the address of etcd, which should hold nothing else:
#
#   sh examples/etcd-benchmark.sh 127.0.0.1:2379
#
# Without "brunt", and with the program's name "benchmark" instead of "etcd-benchmark", each line is etcd's own.
set -e
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 put --key-size 8 --val-size 256 --key-space-size 1000 --total 2000
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 put --sequential-keys --key-space-size 500 --rate 2000 --total 500
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 range foo --consistency l --total 2000
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 txn-put --txn-ops 4 --key-space-size 100 --total 200
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 txn-mixed foo --rw-ratio 2 --total 300
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 stm --isolation r --keys 20 --keys-per-txn 3 --total 200
brunt etcd-benchmark --endpoints "$1" --conns 4 --clients 16 lease-keepalive --total 300
brunt etcd-benchmark --endpoints "$1" watch --streams 2 --watch-per-stream 5 --watched-key-total 5 --put-total 50 --put-rate 500
brunt etcd-benchmark --endpoints "$1" watch-latency --streams 2 --watchers-per-stream 5 --put-total 50 --put-rate 500
brunt etcd-benchmark --endpoints "$1" watch-get --streams 2 --watchers 20 --events 4
