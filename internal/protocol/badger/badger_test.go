package badger

import (
	"testing"

	"brunt/internal/protocol/protocoltest"
)

func TestStore(t *testing.T) {
	protocoltest.Embedded(t, New(), map[string]string{"num_memtables": "2", "value_threshold": "32",
		"table_loading_mode": "MemoryMap"})
}
