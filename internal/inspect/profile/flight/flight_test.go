package flight

import (
	"fmt"
	"os"
	"testing"
)

func TestX(t *testing.T) {
	for _, n := range []string{"/tmp/jfr-x/java-17-openjdk-amd64.jfr", "/tmp/jfr-x/temurin-25-jdk-amd64.jfr"} {
		f, err := os.Open(n)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]int{}
		spans, err := Read(f, func(s Sample) {
			top := "-"
			if len(s.Stack) > 0 {
				top = s.Stack[0]
			}
			if len(m) < 1000 {
				m[fmt.Sprint(s.Native, s.Thread, top, len(s.Stack))]++
			}
			if len(m) < 3 {
				t.Log(s)
			}
		})
		t.Log(spans, err, m)
	}
}
