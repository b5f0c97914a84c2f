// Package dynamodb links the protocol of DynamoDB: dynamodb.
package dynamodb

import (
	declared "brunt/internal/protocol/dynamodb"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
