package tank

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect/command"
	"brunt/internal/plan"
)

// pandora reads the section pandora.
func (c *Config) pandora(o *object) {
	o = c.object(o.node, "pandora", keysOf("pandora")...)
	if o == nil {
		return
	}
	if n := o.get("resources"); n != nil && len(c.list(n, "resources")) > 0 {
		c.note("pandora: resources aren't downloaded")
	}
	n := o.get("config_content")
	if n == nil || len(n.Content) == 0 {
		file := c.text(o.get("config_file"), "config_file")
		if file == "" {
			c.fault(o.node, "pandora has neither config_content nor config_file; add one of them")
			return
		}
		text, err := command.ReadFile(expand(file))
		if err != nil {
			c.fault(o.get("config_file"), "can't open %s: %v", file, cause(err))
			return
		}
		if n, err = parseYAML(text); err != nil {
			c.faults = append(c.faults, inFile(file, err).Error())
			return
		}
		mark(n, file, 0)
	}
	c.pools(n)
}

// pools reads a configuration of Pandora.
func (c *Config) pools(n *yaml.Node) {
	c.substitute(n, 0)
	o := c.object(n, "the configuration of pandora", "pools", "log", "monitoring")
	if o == nil {
		return
	}
	all := c.list(o.get("pools"), "pools")
	if len(all) == 0 {
		c.fault(n, "pandora has no pools")
	}
	for _, pool := range all {
		p := c.object(pool, "a pool", "id", "gun", "ammo", "result", "rps", "startup",
			"rps-per-instance", "discard_overflow")
		if p == nil {
			continue
		}
		c.pool(p)
	}
}

var variableForm = lazyregexp.New(`\$\{([^{}]*)\}`)

// substitute replaces ${env:NAME} and ${property:FILE#NAME}.
func (c *Config) substitute(n *yaml.Node, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		n.Value = variableForm().ReplaceAllStringFunc(n.Value, func(text string) string {
			kind, rest, _ := strings.Cut(text[2:len(text)-1], ":")
			switch kind {
			case "env":
				if v, ok := os.LookupEnv(rest); ok {
					return v
				}
				c.fault(n, "the environment has no variable %s", rest)
			case "property":
				v, err := property(rest)
				if err != nil {
					c.fault(n, "%s: %v", text, err)
				}
				return v
			default:
				c.fault(n, "%s: write ${env:NAME} or ${property:FILE#NAME}", text)
			}
			return ""
		})
		if n.Style == 0 {
			n.Tag = ""
		}
	}
	for _, child := range n.Content {
		c.substitute(child, depth+1)
	}
}

// property returns a value of a file with lines NAME=value.
func property(text string) (string, error) {
	file, name, _ := strings.Cut(text, "#")
	content, err := command.ReadFile(file)
	if err != nil {
		return "", cause(err)
	}
	for line := range strings.SplitSeq(string(content), "\n") {
		if key, v, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(v), nil
		}
	}
	return "", fmt.Errorf("%s has no %s", file, name)
}

// gunKeys are the keys of Pandora's HTTP guns.
var gunKeys = []string{"type", "target", "ssl", "connect-ssl", "tls-handshake-timeout", "disable-keep-alives",
	"disable-compression", "max-idle-conns", "max-idle-conns-per-host", "idle-conn-timeout", "response-header-timeout",
	"expect-continue-timeout", "shared-client", "dial", "answlog", "auto-tag", "httptrace", "redirect"}

// guns are the guns that are sent.
var guns = []string{"http", "http2", connectGun, "http/scenario", callGun, callPlay}

// connectGun is the gun that sends requests through a tunnel, for which it asks the target.
const connectGun = "connect"

// pool reads a pool.
func (c *Config) pool(p *object) {
	s := &stream{node: p.node, generator: "pandora", timeoutMs: mostTimeout, connectMs: 3000,
		options: map[string]string{"good": "200-399", "parts": "on"}}
	g := c.object(p.get("gun"), "gun")
	a := c.object(p.get("ammo"), "ammo")
	if g == nil || a == nil {
		return
	}
	kind := c.text(g.get("type"), "type")
	if !slices.Contains(guns, kind) {
		c.fault(cmp.Or(g.get("type"), g.node), "the gun %q isn't available; use %s", kind, strings.Join(guns, ", "))
		return
	}
	if kind == callGun || kind == callPlay {
		c.callPool(p, g, a, kind)
		return
	}
	if g = c.object(g.node, "gun", gunKeys...); g == nil {
		return
	}
	s.tls.on = c.flag(g.get("ssl"), "ssl", kind == "http2")
	if s.tls.http2 = kind == "http2"; s.tls.http2 && !s.tls.on {
		c.fault(g.get("ssl"), "http2 needs ssl: true")
	}
	s.address = c.address(g, "target", nil, s.tls.on, "the gun")
	web := c.gun(g, s)
	if kind == connectGun {
		s.via = "http://" + s.address
		if c.flag(g.get("connect-ssl"), "connect-ssl", false) {
			s.via = "https://" + s.address
		}
	}
	c.ammos(a, g, s, kind, web)
	c.finishPool(p, s)
}

// finishPool reads what pools of all guns have.
func (c *Config) finishPool(p *object, s *stream) {
	c.result(p)
	if s.late = "queue"; c.flag(p.get("discard_overflow"), "discard_overflow", true) {
		s.late = "drop"
	}
	s.load = profile{kind: "pandora", node: p.get("rps")}
	c.profile(p, s)
	c.streams = append(c.streams, s)
}

// gun reads the settings of a gun. web says that the heads of requests can't be written in advance.
func (c *Config) gun(g *object, s *stream) (web bool) {
	if web = s.tls.http2; !web {
		s.options["http2"] = "off"
	}
	if c.flag(g.get("redirect"), "redirect", false) {
		s.options["redirects"], web = "10", true
	}
	if !c.flag(g.get("disable-compression"), "disable-compression", true) {
		s.options["compress"], web = "on", true
	}
	if c.flag(g.get("disable-keep-alives"), "disable-keep-alives", false) {
		s.options["noreuse"] = "on"
	}
	if d := g.get("dial"); d != nil {
		if o := c.object(d, "dial", "timeout", "dns-cache", "dual-stack", "fallback-delay", "keep-alive"); o != nil {
			if n := o.get("timeout"); n != nil {
				s.connectMs = c.duration(n, "timeout").Milliseconds()
			}
		}
	}
	c.unfollowed(g)
	if n := g.get("response-header-timeout"); n != nil {
		if d := c.duration(n, "response-header-timeout"); d > 0 {
			s.timeoutMs = d.Milliseconds()
		}
	}
	return web
}

// unfollowed notes the settings of guns that aren't followed.
func (c *Config) unfollowed(g *object) {
	if n := g.get("shared-client"); n != nil {
		o := c.object(n, "shared-client", "enabled", "client-number")
		kind := c.text(g.get("type"), "type")
		if o != nil && c.flag(o.get("enabled"), "enabled", false) && kind != callGun {
			c.note("pandora: shared-client isn't followed by the gun %s; each instance has its connection", kind)
		}
	}
	if n := g.get("answlog"); n != nil {
		o := c.object(n, "answlog", "enabled", "path", "filter")
		if o != nil && c.flag(o.get("enabled"), "enabled", false) {
			c.note("pandora: answlog isn't followed; no requests and answers are logged")
		}
	}
}

// result reads where results go.
func (c *Config) result(p *object) {
	n := p.get("result")
	if n == nil {
		return
	}
	o := c.object(n, "result")
	if o == nil {
		return
	}
	switch kind := c.text(o.get("type"), "type"); kind {
	case "phout":
		if file := c.text(o.get("destination"), "destination"); file != "" {
			c.phout = file
		}
		c.numbered = c.flag(o.get("id"), "id", false)
	case "discard", "log", "jsonlines", "":
	default:
		c.fault(o.get("type"), "the result %q isn't available; use phout", kind)
	}
}

// duration reads a duration of Go; a number is seconds.
func (c *Config) duration(n *yaml.Node, what string) time.Duration {
	text := c.text(n, what)
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 && v < mostMs/1000 {
		return time.Duration(v * 1e9)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > mostMs*time.Millisecond {
		c.fault(n, "%s: %q is no duration; write for example 30s or 5m", what, text)
		return 0
	}
	return d
}

// ammoKeys are the keys of Pandora's providers of requests.
var ammoKeys = []string{"type", "file", "limit", "passes", "headers", "uris", "continueonerror", "maxammosize",
	"chosencases", "middlewares", "preload", "source", "continue_on_error", "max_ammo_size", "decoder"}

// ammoOptions reads what all providers have. The keys of what it returns are in lower case.
func (c *Config) ammoOptions(a *object, s *stream) *object {
	o := &object{node: a.node}
	for _, e := range a.entries {
		key := *e.key
		key.Value = strings.ToLower(key.Value)
		if !slices.Contains(ammoKeys, key.Value) {
			c.object(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&key, e.value}}, "ammo", ammoKeys...)
		}
		o.entries = append(o.entries, entry{&key, e.value})
	}
	s.limit = uint64(max(c.whole(o.get("limit"), "limit", 0), 0))
	s.loops = max(c.whole(o.get("passes"), "passes", 0), 0)
	if n := o.get("middlewares"); n != nil && len(c.list(n, "middlewares")) > 0 {
		c.fault(n, "middlewares aren't available")
	}
	return o
}

// ammoFile returns the file of a list, or its text if that is in the configuration.
func (c *Config) ammoFile(o *object) (file string, inline []byte) {
	file = c.text(o.get("file"), "file")
	if n := o.get("source"); n != nil {
		if src := c.object(n, "source", "type", "path", "data"); src != nil {
			file = c.text(src.get("path"), "path")
			if data := src.get("data"); data != nil {
				inline = []byte(c.text(data, "data"))
			}
		}
	}
	return file, inline
}

// ammos reads the requests of a pool.
func (c *Config) ammos(a, g *object, s *stream, gun string, web bool) {
	kind := c.text(a.get("type"), "type")
	o := c.ammoOptions(a, s)
	file, inline := c.ammoFile(o)
	if (gun == "http/scenario") != (kind == "http/scenario") {
		c.fault(cmp.Or(a.get("type"), a.node), "ammo %q doesn't fit the gun %q", kind, gun)
		return
	}
	if kind == "http/scenario" {
		if web {
			c.fault(g.node, "redirect and compression aren't available for scenarios")
		}
		c.scenarios(o.get("file"), file, s, 0)
		return
	}
	if kind == webGun { // the provider of all formats
		kind = c.text(o.get("decoder"), "decoder")
	}
	format, ok := pandoraKinds[kind]
	if !ok {
		c.fault(cmp.Or(a.get("type"), a.node), "ammo %q isn't available; use %s or http/scenario", kind,
			strings.Join(sortedKeys(pandoraKinds), ", "))
		return
	}
	src := &pandoraSource{name: cmp.Or(file, "uris"), kind: format, headers: c.texts(o.get("headers"), "headers"),
		host: hostOnly(s.address), web: web}
	text := inline
	var err error
	if uris := c.texts(o.get("uris"), "uris"); len(uris) > 0 {
		text = []byte(strings.Join(uris, "\n"))
	} else if len(inline) == 0 {
		if file == "" {
			c.fault(a.node, "ammo has neither file nor uris; add one of them")
			return
		}
		text, err = readFile(expand(file))
	}
	if err == nil {
		s.list, err = src.read(text)
	}
	if err != nil {
		c.faultOf(o.get("file"), file, err)
		return
	}
	chosen := c.texts(o.get("chosencases"), "chosencases")
	if len(chosen) > 0 && s.limit > 0 && !c.flag(o.get("preload"), "preload", false) {
		s.limit = chosenOf(s.list.shots, chosen, s.limit)
	}
	c.tags(g, s, chosen)
	if s.limit == 0 && c.whole(o.get("limit"), "limit", 0) > 0 {
		c.fault(o.get("limit"), "none of the first %s requests has one of the chosen tags", o.get("limit").Value)
	}
}

// chosenOf returns how many of the first n requests, with repetitions, have one of the chosen tags: without preload,
// Pandora counts the others too.
func chosenOf(shots []shot, chosen []string, n uint64) (count uint64) {
	all := uint64(len(shots))
	for i := range shots {
		if !slices.Contains(chosen, shots[i].tag) {
			continue
		}
		count += n / all
		if uint64(i) < n%all {
			count++
		}
	}
	return count
}

// noTag is the tag of Pandora's requests without one.
const noTag = "__EMPTY__"

// tags gives the requests tags, and keeps the chosen ones.
func (c *Config) tags(g *object, s *stream, chosen []string) {
	auto, elements, only := false, 2, true
	if n := g.get("auto-tag"); n != nil {
		if o := c.object(n, "auto-tag", "enabled", "uri-elements", "no-tag-only"); o != nil {
			auto, only = c.flag(o.get("enabled"), "enabled", false), c.flag(o.get("no-tag-only"), "no-tag-only", true)
			elements = c.whole(o.get("uri-elements"), "uri-elements", 2)
		}
	}
	kept := &ammo{}
	for _, sh := range s.list.shots {
		if len(chosen) > 0 && !slices.Contains(chosen, sh.tag) {
			continue
		}
		if auto && (!only || sh.tag == "") {
			tag := autotag(elements, sh.raw, sh.web)
			if sh.tag != "" {
				tag = sh.tag + "|" + tag
			}
			sh.tag = tag
		}
		sh.tag = cmp.Or(sh.tag, noTag)
		sh.tagged = true
		kept.shots = append(kept.shots, sh)
	}
	if len(kept.shots) == 0 {
		c.fault(g.node, "no request has one of the chosen tags %s", strings.Join(chosen, ", "))
	}
	s.list = kept
	s.tags.auto = "0"
}

// profile reads when requests are sent and when instances start.
func (c *Config) profile(p *object, s *stream) {
	startsMs := c.startup(p.get("startup"))
	if len(startsMs) == 0 {
		return
	}
	s.load.sessions = len(startsMs)
	s.load.startsMs = startsMs
	factor := 1.0
	if c.flag(p.get("rps-per-instance"), "rps-per-instance", false) {
		factor = float64(len(startsMs))
		c.note("pandora: rps-per-instance: the rates are those of all %d instances together", len(startsMs))
	}
	steps := c.either(p.get("rps"), 0)
	if len(steps) == 0 {
		c.fault(p.node, "the pool has no rps; add for example rps: {type: line, from: 1, to: 5, duration: 60s}")
		return
	}
	var r rates
	for _, n := range steps {
		if o := c.object(n, "rps", "type", "from", "to", "ops", "step", "duration", "times"); o != nil {
			c.step(&r, o, s, factor, len(steps) > 1)
		}
	}
	if s.load.closed == nil && s.load.phases == nil {
		s.load.phases = named(r.phases)
		if startsMs[len(startsMs)-1] > 0 {
			c.note("pandora: instances are opened when requests need them, up to %d; startup only says how many",
				len(startsMs))
		}
	}
}

// either returns the items of a list, those of schedules that are composed of others, or the only value.
func (c *Config) either(n *yaml.Node, depth int) (all []*yaml.Node) {
	switch n = resolve(n); {
	case null(n) || depth > maxDepth:
		return nil
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			all = append(all, c.either(item, depth+1)...)
		}
		return all
	case n.Kind == yaml.MappingNode:
		o := &object{node: n, entries: pairsOf(n, 0)}
		if kind := o.get("type"); kind != nil && kind.Value == "composite" {
			if o = c.object(n, "composite", "type", "nested"); o == nil {
				return nil
			}
			return c.either(o.get("nested"), depth+1)
		}
	}
	return []*yaml.Node{n}
}

// step adds a step of a schedule of requests.
func (c *Config) step(r *rates, o *object, s *stream, factor float64, several bool) {
	kind := c.text(o.get("type"), "type")
	number := func(key string) float64 {
		if o.get(key) == nil {
			return 0
		}
		return c.number(o.get(key), key) * factor
	}
	if !slices.Contains([]string{"const", "line", "step", "once", "unlimited"}, kind) {
		c.fault(o.node, "the schedule %q isn't available; use const, line, step, once or unlimited", kind)
		return
	}
	lasts := time.Duration(0)
	if o.get("duration") != nil {
		lasts = c.duration(o.get("duration"), "duration")
	}
	if lasts < time.Millisecond && kind != "once" {
		c.fault(o.node, "%s has no duration of at least 1ms", kind)
		return
	}
	name := func(args ...any) string { return kind + "(" + strings.Trim(fmt.Sprintln(args...), "\n") + ")" }
	switch kind {
	case "const":
		r.add(name(number("ops"), lasts), number("ops"), number("ops"), lasts)
	case "line":
		r.add(name(number("from"), number("to"), lasts), number("from"), number("to"), lasts)
	case "step":
		from, to, by := number("from"), number("to"), number("step")
		if to < from {
			c.fault(o.node, "step: to is below from")
			return
		}
		if err := r.stairs(name(from, to, by, lasts), from, to, by, lasts, false); err != nil {
			c.fault(o.node, "%v", err)
		}
	case "once", "unlimited":
		if several {
			c.amongSteps(r, o, kind)
			return
		}
		if kind == "unlimited" {
			s.load.closed = instancePhases(s.load.startsMs, 0, lasts.Milliseconds())
			return
		}
		times := c.whole(o.get("times"), "times", 0)
		if times < 1 {
			c.fault(o.node, "once has no times above 0")
			return
		}
		s.load.closed = []plan.Phase{{Name: "once", Kind: plan.Closed, Operations: uint64(times)}}
		s.load.sessions = min(s.load.sessions, times)
	}
}

// amongSteps adds requests that are due at once. They take a millisecond.
func (c *Config) amongSteps(r *rates, o *object, kind string) {
	times := c.whole(o.get("times"), "times", 0)
	switch {
	case kind != "once":
		c.fault(o.node, "%s among other steps isn't available", kind)
	case times < 1 || times > mostTogether:
		c.fault(o.node, "once: times must be from 1 to %d", mostTogether)
	default:
		r.phases = append(r.phases, plan.Listed(fmt.Sprintf("once(%d)", times), make([]time.Duration, times),
			time.Millisecond))
	}
}

// startup returns when instances start, in ms.
func (c *Config) startup(n *yaml.Node) []int64 {
	var b starts
	before := len(c.faults)
	steps := c.either(n, 0)
	if len(steps) == 0 && len(c.faults) == before {
		c.fault(n, "the pool has no startup; add for example startup: {type: once, times: 10}")
		return nil
	}
	for _, item := range steps {
		o := c.object(item, "startup", "type", "times", "ops", "duration", "from", "to", "step", "stepduration")
		if o == nil {
			return nil
		}
		var err error
		switch kind := c.text(o.get("type"), "type"); kind {
		case "once":
			err = b.start(c.whole(o.get("times"), "times", 0))
		case "const", "line", "step":
			var r rates
			if c.step(&r, o, nil, 1, true); len(c.faults) > before {
				return nil
			}
			err = b.rated(r.phases)
		case "instance_step":
			from, to := c.whole(o.get("from"), "from", 0), c.whole(o.get("to"), "to", 0)
			by := c.whole(o.get("step"), "step", 0)
			every := c.duration(o.get("stepduration"), "stepduration")
			if by < 1 {
				c.fault(item, "instance_step has no step above 0")
				return nil
			}
			err = b.start(from)
			for i := from + by; i <= to && err == nil; i += by {
				b.now += every.Milliseconds()
				err = b.start(by)
			}
		default:
			c.fault(item, "the startup %q isn't available; use once, const, line, step or instance_step", kind)
			return nil
		}
		if err != nil {
			c.fault(item, "startup: %v", err)
			return nil
		}
	}
	if len(b.atMs) == 0 && len(c.faults) == before {
		c.fault(n, "startup starts no instance")
	}
	return b.atMs
}

// hclFile ends the names of files in HCL.
const hclFile = ".hcl"

// scenarios reads a file of scenarios. With a deadline, they are made of gRPC calls.
func (c *Config) scenarios(n *yaml.Node, file string, s *stream, deadline time.Duration) {
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case file == "":
		c.fault(n, "http/scenario has no file")
		return
	case !slices.Contains([]string{".yaml", ".yml", ".json", hclFile}, ext):
		c.fault(n, "%s: the file must be .yaml, .json or .hcl", file)
		return
	}
	text, err := readFile(expand(file))
	if err != nil {
		c.fault(n, "%v", err)
		return
	}
	r := reader{file: file}
	folder := filepath.Dir(file)
	if strings.EqualFold(filepath.Ext(file), hclFile) {
		if root := r.hcl(text); root != nil {
			s.play, err = r.playbook(root, folder, deadline)
		}
	} else {
		var root *yaml.Node
		if root, err = parseYAML(text); err == nil {
			s.play, err = r.playbook(root, folder, deadline)
		}
	}
	if err != nil {
		r.faults = append(r.faults, inFile(file, err).Error())
	}
	c.faults = append(c.faults, r.faults...)
	c.notes = append(c.notes, r.notes...)
	if s.play != nil {
		s.play.host = hostOnly(s.address)
	}
}

// playbook reads scenarios of requests, or of calls, which have a deadline.
func (r *reader) playbook(root *yaml.Node, folder string, deadline time.Duration) (*playbook, error) {
	o := r.object(root, "the scenarios", "locals", "variable_sources", "requests", "calls", "scenarios")
	if o == nil {
		return nil, nil
	}
	sources := map[string]any{}
	for _, n := range r.list(o.get("variable_sources"), "variable_sources") {
		r.source(n, folder, sources)
	}
	known := map[string]*scenarioStep{}
	list, read := "requests", r.request
	if deadline > 0 {
		list, read = "calls", func(n *yaml.Node) *scenarioStep { return r.call(n, deadline) }
	}
	for _, n := range r.list(o.get(list), list) {
		if step := read(n); step != nil {
			known[step.Name] = step
		}
	}
	book := &playbook{}
	var weights []int
	for _, n := range r.list(o.get("scenarios"), "scenarios") {
		if sc, weight := r.scenario(n, known); sc != nil {
			book.scenarios, weights = append(book.scenarios, *sc), append(weights, weight)
		}
	}
	if len(book.scenarios) == 0 && len(r.faults) == 0 {
		return nil, fmt.Errorf("no scenarios")
	}
	common := 0
	for _, w := range weights {
		common = gcd(common, w)
	}
	for i, w := range weights {
		for range min(w/max(common, 1), mostOrder) {
			book.order = append(book.order, i)
		}
	}
	var err error
	book.sources, err = encodeSources(sources)
	return book, err
}

// mostOrder limits the weight of a scenario relative to others.
const mostOrder = 100_000

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// source reads a source of variables.
func (r *reader) source(n *yaml.Node, folder string, all map[string]any) {
	o := r.object(n, "a variable source", "type", "name", "file", "fields", "ignore_first_line", "delimiter", "variables")
	if o == nil {
		return
	}
	name := r.text(o.get("name"), "name")
	if name == "" {
		r.fault(n, "a variable source without a name")
	}
	open := func() []byte {
		file := expand(r.text(o.get("file"), "file"))
		text, err := readFile(file)
		if err != nil && !filepath.IsAbs(file) {
			if nextToScenarios, second := readFile(filepath.Join(folder, file)); second == nil {
				text, err = nextToScenarios, nil
			}
		}
		if err != nil {
			r.fault(cmp.Or(o.get("file"), n), "%v", err)
		}
		return text
	}
	var err error
	switch kind := r.text(o.get("type"), "type"); kind {
	case "file/csv":
		var list []any
		delimiter := r.text(o.get("delimiter"), "delimiter")
		list, err = readCSV(strings.NewReader(string(open())), r.texts(o.get("fields"), "fields"),
			r.flag(o.get("ignore_first_line"), "ignore_first_line", false), delimiter)
		all[name] = list
	case "file/json":
		text := open()
		if len(text) > 0 {
			all[name], err = decodeJSON(text)
		}
	case "variables":
		all[name], err = called(value(o.get("variables"), 0), rand.New(rand.NewPCG(1, 1)))
	default:
		r.fault(cmp.Or(o.get("type"), n), "the variable source %q isn't available; use file/csv, file/json or variables",
			kind)
	}
	if err != nil {
		r.fault(cmp.Or(o.get("file"), n), "%s: %v", cmp.Or(r.text(o.get("file"), "file"), name), err)
	}
}

// called replaces texts of variables that call a function by its result. It is called once, before the load.
func called(v any, random *rand.Rand) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			one, err := called(v[name], random)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			v[name] = one
		}
	case string:
		if made, ok, err := call(v, nil, nil, random); ok {
			return made, err
		}
	}
	return v, nil
}

// strings reads a mapping of texts.
func (r *reader) strings(n *yaml.Node, what string) map[string]string {
	if null(n) {
		return nil
	}
	o := r.object(n, what)
	if o == nil {
		return nil
	}
	m := map[string]string{}
	for _, e := range o.entries {
		m[e.key.Value] = r.text(e.value, what)
	}
	return m
}

// request reads a request of scenarios.
func (r *reader) request(n *yaml.Node) *scenarioStep {
	o := r.object(n, "a request", "name", "method", "headers", "tag", "body", "uri", "preprocessor", "postprocessors",
		"templater")
	if o == nil {
		return nil
	}
	s := &scenarioStep{Name: r.text(o.get("name"), "name"), Method: cmp.Or(r.text(o.get("method"), "method"), "GET"),
		URI: r.text(o.get("uri"), "uri"), Headers: r.strings(o.get("headers"), "headers"),
		Body: r.text(o.get("body"), "body")}
	if s.Name == "" {
		r.fault(n, "a request without a name")
	}
	if s.URI == "" {
		r.fault(n, "request %s has no uri", s.Name)
	}
	if p := o.get("templater"); p != nil {
		if t := r.object(p, "templater", "type"); t != nil {
			kind := r.text(t.get("type"), "type")
			if s.HTML = kind == "html"; kind != "html" && kind != "text" {
				r.fault(p, "the templater %q isn't available; use text or html", kind)
			}
		}
	}
	if p := o.get("preprocessor"); p != nil {
		if m := r.object(p, "preprocessor", "mapping"); m != nil {
			s.Before = r.strings(m.get("mapping"), "mapping")
		}
	}
	for _, p := range r.list(o.get("postprocessors"), "postprocessors") {
		a := r.object(p, "a postprocessor", "type", "mapping", "headers", "body", "status_code", "size")
		if a == nil {
			continue
		}
		after := postprocessor{Type: r.text(a.get("type"), "type"), Mapping: r.strings(a.get("mapping"), "mapping"),
			Headers: r.strings(a.get("headers"), "headers"), Body: r.texts(a.get("body"), "body"),
			Status: r.whole(a.get("status_code"), "status_code", 0)}
		if size := a.get("size"); size != nil {
			if z := r.object(size, "size", "val", "op"); z != nil {
				after.Size, after.SizeOp = r.whole(z.get("val"), "val", 0), cmp.Or(r.text(z.get("op"), "op"), "=")
			}
		}
		if err := after.compile(); err != nil {
			r.fault(p, "postprocessor %s: %v", after.Type, err)
			continue
		}
		s.After = append(s.After, after)
	}
	if err := s.compile(); err != nil {
		r.fault(n, "%v", err)
	}
	return s
}

// scenario reads a scenario, and its weight.
func (r *reader) scenario(n *yaml.Node, known map[string]*scenarioStep) (*scenario, int) {
	o := r.object(n, "a scenario", "name", "weight", "min_waiting_time", "requests")
	if o == nil {
		return nil, 0
	}
	sc := &scenario{Name: r.text(o.get("name"), "name"),
		LeastS: float64(r.whole(o.get("min_waiting_time"), "min_waiting_time", 0)) / 1000}
	if sc.Name == "" {
		r.fault(n, "a scenario without a name")
	}
	for _, item := range r.list(o.get("requests"), "requests") {
		name, count, pause, err := shootName(r.text(item, "requests"))
		switch {
		case err != nil:
			r.fault(item, "%v", err)
			continue
		case name == "sleep" && len(sc.Steps) == 0:
			r.fault(item, "a scenario can't begin with sleep")
			continue
		case name == "sleep":
			sc.Steps[len(sc.Steps)-1].PauseNs += int64(count) * 1e6
			continue
		case known[name] == nil:
			r.fault(item, "there is no request %q", name)
			continue
		case len(sc.Steps)+count > mostSteps:
			r.fault(item, "a scenario of more than %d requests", mostSteps)
			continue
		}
		for range count {
			step := *known[name]
			step.PauseNs = int64(pause) * 1e6
			sc.Steps = append(sc.Steps, step)
		}
	}
	if len(sc.Steps) == 0 && len(r.faults) == 0 {
		r.fault(n, "scenario %s has no requests", sc.Name)
	}
	weight := r.whole(o.get("weight"), "weight", 1)
	if weight < 0 {
		r.fault(o.get("weight"), "weight must be above 0, not %d", weight)
	}
	return sc, max(weight, 1)
}

// mostSteps is the greatest number of requests of a scenario.
const mostSteps = 1000

// shootName parses "order_req(3, 100)": a request with how often it is sent and the pause after each, in ms.
func shootName(text string) (name string, count, pauseMs int, err error) {
	name, rest, given := strings.Cut(strings.TrimSpace(text), "(")
	count = 1
	if !given {
		return name, 1, 0, nil
	}
	args := strings.Split(strings.TrimSuffix(rest, ")"), ",")
	for i, arg := range args {
		v, err := strconv.Atoi(strings.TrimSpace(arg))
		if err != nil || v < 0 || v > mostMs || i > 1 {
			return "", 0, 0, fmt.Errorf("%q: write name(times, pause in ms)", text)
		}
		if i == 0 {
			count = v
		} else {
			pauseMs = v
		}
	}
	return name, count, pauseMs, nil
}
