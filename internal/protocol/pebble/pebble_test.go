package pebble

import (
	"testing"

	"brunt/internal/protocol/protocoltest"
)

func TestStore(t *testing.T) { protocoltest.Embedded(t, New(), map[string]string{"sync": "false"}) }
