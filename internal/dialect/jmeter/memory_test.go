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
