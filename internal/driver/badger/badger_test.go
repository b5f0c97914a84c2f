package badger

import (
	"testing"

	"brunt/internal/driver/drivertest"
)

func TestStore(t *testing.T) {
	drivertest.Embedded(t, New(), map[string]string{"num_memtables": "2", "value_threshold": "32", "table_loading_mode": "MemoryMap"})
}
