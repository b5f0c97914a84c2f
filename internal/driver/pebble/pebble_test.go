package pebble

import (
	"testing"

	"brunt/internal/driver/drivertest"
)

func TestStore(t *testing.T) { drivertest.Embedded(t, New(), map[string]string{"sync": "false"}) }
