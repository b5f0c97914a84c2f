// Package redis links the protocol of Redis and Valkey: redis.
package redis

import (
	"brunt/internal/protocol/protocols"
	declared "brunt/internal/protocol/redis"
)

func init() { protocols.Link(declared.Declaration()) }
