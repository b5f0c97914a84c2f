package jmeter

import (
	"runtime"
	"testing"
)

// A request allocates little: the collector's work is most of a load's CPU time otherwise.
func TestRequestsAllocateLittle(t *testing.T) {
	sampler := `<HTTPSamplerProxy testname="r"><stringProp name="HTTPSampler.domain">h</stringProp>` +
		`<stringProp name="HTTPSampler.path">/books</stringProp><stringProp name="HTTPSampler.method">GET</stringProp>` +
		`</HTTPSamplerProxy><hashTree><HeaderManager testname="m"><collectionProp name="HeaderManager.headers">` +
		`<elementProp name="" elementType="Header"><stringProp name="Header.name">Accept</stringProp>` +
		`<stringProp name="Header.value">text/plain</stringProp></elementProp></collectionProp></HeaderManager>` +
		`<hashTree/></hashTree>`
	p, faults, _ := compiled(around(sampler), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	thread := p.Session(0).(*thread)
	r := p.samplers[len(p.samplers)-1].http
	const requests = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		if _, err := r.build(thread); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / requests; bytes > 4<<10 {
		t.Errorf("%d bytes a request", bytes)
	}
}

func TestHeaderLines(t *testing.T) {
	h := headerLines("HTTP/1.1 200 OK\ncontent-type:  text/html \nX-Content-Type: no\nSet-Cookie: a=1\nEmpty:\n" +
		"SET-COOKIE: b=2; Path=/x\nContent-Type: second\n")
	for name, want := range map[string]string{"Content-Type": "text/html", "Empty": "", "Location": ""} {
		if got := h.get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	all := h.cookies()
	if len(all) != 2 || all[0].Value != "1" || all[1].Name != "b" || all[1].Path != "/x" {
		t.Errorf("cookies %v", all)
	}
	if n := testing.AllocsPerRun(10, func() { h.get("Location") }); n != 0 {
		t.Errorf("%v allocations to find a header", n)
	}
}
