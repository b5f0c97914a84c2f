package planfile

import (
	"strings"
	"testing"

	"brunt/internal/plan/workload"
)

// TestCarsStream fixes the first 20 operations of the format's sample with seed 42. There is no independent source,
// because Picostress' own draws can't be reproduced. The values were printed by this test once. They must never change,
// because recorded seeds would lose their meaning.
func TestCarsStream(t *testing.T) {
	p := mustRead(t, "testdata/cars.yml")
	p.Seed = 42
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if w.Total != 100 || len(w.Operations) != 1 || w.Operations[0].Name != "select cars_q" {
		t.Fatalf("queue of %d, operations %+v", w.Total, w.Operations)
	}
	var st workload.State
	var got []string
	for i := range uint64(20) {
		var line []string
		args := w.Args(&st, w.Pick(i), 0, i)
		for k := range args {
			line = append(line, string(args[k].AppendText(nil)))
		}
		got = append(got, strings.Join(line, " "))
	}
	want := strings.Fields(carsStream)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the stream is now\n%s", strings.Join(got, "\n"))
	}
}

const carsStream = `
17 dirQngjqITpLI true
13 nNXWXAOLKr true
15 rHcKPVwOAVmGT true
18 HtjiwTjJ true
16 GqGbz true
17 tHyTl true
16 VmFonwI true
16 RPSNckgPN true
21 CqKRzMca true
15 GGDo true
16 DQWKdqzV true
15 OJHfzCnfDSJ true
18 FVfh true
14 uMFOZeEejM true
19 omDkYC true
19 sxjfSOzFZ true
14 EkSeBkTxMMd true
14 JaDtEErCJOR true
18 AlMLcJ true
11 ECARKUAC true
`
