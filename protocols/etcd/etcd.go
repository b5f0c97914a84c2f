// Package etcd links the protocol of etcd: etcd.
package etcd

import (
	declared "brunt/internal/protocol/etcd"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
