package plan

import "time"

// WithDefaults returns s with every field that is zero at the default that Settings documents. Fields
// that say something keep it, so that a second call changes nothing.
func (s Settings) WithDefaults() Settings {
	if s.Sessions <= 0 {
		s.Sessions = 1
	}
	if s.OperationTimeout <= 0 {
		s.OperationTimeout = 30 * time.Second
	}
	if s.ConnectTimeout <= 0 {
		s.ConnectTimeout = 5 * time.Second
	}
	if s.Retries == 0 {
		s.Retries = 3
	}
	if s.LatePolicy == "" {
		s.LatePolicy = "queue"
	}
	if s.Awake == "" {
		s.Awake = "auto"
	}
	if s.Outage == "" {
		s.Outage = "fail"
	}
	if s.Interval <= 0 {
		s.Interval = time.Second
	}
	if s.Tier == "" {
		s.Tier = "auto"
	}
	if s.Pipeline < 1 {
		s.Pipeline = 1
	}
	return s
}

// MostSessions is how many sessions the load needs at once: those of the settings, or of the
// closed phase that names the most.
func (p *Plan) MostSessions() int {
	n := max(p.Settings.Sessions, 1)
	for i := range p.Load {
		n = max(n, p.Load[i].Sessions)
	}
	return n
}

// PeakPerS is the highest rate that an open phase has, operations a second; 0 if none is open.
func (p *Plan) PeakPerS() float64 {
	rate := 0.0
	for i := range p.Load {
		if ph := &p.Load[i]; ph.Kind == Open {
			rate = max(rate, ph.RateFrom, ph.RateTo)
		}
	}
	return rate
}

// LoadModel is "open", "closed" or "mixed", by the phases that send anything.
func (p *Plan) LoadModel() string {
	var open, closed bool
	for i := range p.Load {
		open = open || p.Load[i].Kind == Open
		closed = closed || p.Load[i].Kind == Closed
	}
	switch {
	case open && closed:
		return "mixed"
	case open:
		return "open"
	}
	return "closed"
}
