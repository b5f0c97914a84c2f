package picostress

import (
	"os"
	"testing"
)

func TestCars(t *testing.T) {
	data, err := os.ReadFile("testdata/cars.yml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read("cars.yml", data)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", p)
}
