package plan

import (
	"slices"
	"strings"
	"testing"
)

func TestWeightsOfAddresses(t *testing.T) {
	for _, c := range []struct {
		given     string
		addresses string
		weights   []int
	}{
		{"a:1 b:2", "a:1 b:2", nil},
		{"a:1*3 b:2", "a:1 b:2", []int{3, 1}},
		{"[::1]:5*10 *7 x*y*2 z*", "[::1]:5 *7 x*y z*", []int{10, 1, 2, 1}},
		{"a*0 b*-1", "a b", []int{0, -1}},
	} {
		target := Target{Addresses: strings.Fields(c.given)}
		addresses, weights := target.Weighted()
		if strings.Join(addresses, " ") != c.addresses || !slices.Equal(weights, c.weights) {
			t.Errorf("%s: %q with weights %v", c.given, addresses, weights)
		}
	}
}

func TestWeightsNeedAPolicy(t *testing.T) {
	problems := func(balance string, addresses ...string) string {
		p := &Plan{Target: Target{Protocol: "pg", Addresses: addresses, Balance: Balance{Mode: balance}}}
		c := newChecker(p)
		c.target()
		return c.problems.Error()
	}
	for _, c := range []struct {
		balance, addresses, want string
	}{
		{"", "a*3 b", "no effect"},
		{"round-robin", "a*3 b", "no effect"},
		{"weighted", "a*0 b", "weight 0"},
		{"random", "a*1001 b", "weight 1001"},
		{"weighted", "a*2 a", "stands twice"},
	} {
		if got := problems(c.balance, strings.Fields(c.addresses)...); !strings.Contains(got, c.want) {
			t.Errorf("balance %q of %s: %q, want one that says %q", c.balance, c.addresses, got, c.want)
		}
	}
	c := newChecker(&Plan{Target: Target{Addresses: []string{"a*2", "b"}, Balance: Balance{Mode: "weighted"}}})
	if c.target(); len(c.problems) != 0 {
		t.Errorf("weights with balance: weighted: %v", c.problems)
	}
}
