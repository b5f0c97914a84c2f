package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tarantool/go-tarantool/v2"

	"brunt/examples/go-k6-module/cars"
	"brunt/test/testserver"
)

// The test binary is the program itself if it is started with this variable.
const asProgram = "CARSLOAD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A script calls a function of Tarantool through the module.
func TestModule(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(`
sold = 0
function car_add(model) sold = sold + 1 return sold end
function car_count() return sold end
`))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "k6", "run", "--quiet", "-o", "brunt=none", "-e", "ADDRESS="+s.Addr, "-e",
		"USERNAME="+s.User, "-e", "PASSWORD="+s.Password, "script.js")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 98 {
		t.Fatalf("%v\n%s", err, out)
	}
	connection, err := (*cars.Cars)(nil).Connect(s.Addr, s.User, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	got, err := connection.Do(tarantool.NewCallRequest("car_count")).Get()
	if err != nil || len(got) != 1 || got[0] != int8(50) {
		t.Errorf("%v (%v), want 50 cars", got, err)
	}
}

// The module is as short as the one of the article that it follows.
func TestModuleIsShort(t *testing.T) {
	file, err := os.Open("cars/cars.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for in := bufio.NewScanner(file); in.Scan(); n++ {
		if strings.Contains(in.Text(), "{ {") {
			t.Errorf("line %d is two", n+1)
		}
	}
	if n > 30 {
		t.Errorf("%d lines, want 30 at most", n)
	}
}
