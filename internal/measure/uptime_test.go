package measure

import "testing"

// Sessions that are connected for 3/4 of the time count as such, whether they are at the moment of the cut or not.
func TestConnectedSessionsAreIntegrated(t *testing.T) {
	for name, atTheCut := range map[string]int{"up": 4, "down": 0} {
		t.Run(name, func(t *testing.T) {
			c := NewCollector(1, 1)
			r := c.NewRecorder()
			r.SetGauges([]int{atTheCut}, 0, 0, 0)
			r.SetUp(3e9, 1e9)
			r.Close()
			iv := c.Cut(1e9, Meta{Kind: KindClosed})
			if iv.Sessions != atTheCut || iv.Pace.SessionsNs != 3e9 {
				t.Errorf("%d sessions at the end, connected for %g ns altogether; want %d, 3e9", iv.Sessions,
					iv.Pace.SessionsNs, atTheCut)
			}
			if merged := (&Interval{}); !merged.Extend(iv) || merged.SessionsMean != 3 {
				t.Errorf("a merged interval has a mean of %g, want 3", merged.SessionsMean)
			}
		})
	}
}

// A failure is never counted for a node that hasn't joined yet.
func TestAddressesThatDontExistAreChargedWithNothing(t *testing.T) {
	c := NewCollector(1, 3)
	c.Show(1)
	r := c.NewRecorder()
	r.Record(&Sample{Address: 2, End: 1, Attempts: 1, Class: 1})
	c.Cut(1e9, Meta{Kind: KindClosed})
	c.Show(3)
	r.Close()
	c.Cut(2e9, Meta{Kind: KindClosed})
	total := c.Total()
	if n := total.Operations[0].Done; n != 1 {
		t.Errorf("%d operations done, want 1", n)
	}
	for i := range total.Addresses {
		if n := total.Addresses[i].Done; n != 0 {
			t.Errorf("address %d is charged with %d", i, n)
		}
	}
}
