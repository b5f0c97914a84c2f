package bbolt

import (
	"testing"

	"brunt/internal/driver/drivertest"
)

func TestStore(t *testing.T) { drivertest.Embedded(t, New(), map[string]string{"no_sync": "true"}) }
