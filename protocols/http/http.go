// Package http links the protocol of HTTP services: http and https.
package http

import (
	declared "brunt/internal/protocol/http"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration(), declared.SecureDeclaration()) }
