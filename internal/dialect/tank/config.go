package tank

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect/calls"
	"brunt/internal/dialect/command"
	"brunt/internal/plan"
)

// Config is a test of Yandex Tank, as configuration files and the command line describe it.
type Config struct {
	reader
	root    *yaml.Node
	ammo    string // the list that is named on the command line
	streams []*stream

	artifactsBase, artifacts string
	phout                    string // name of the file in the folder of artifacts
	autostop                 []criterion
	reportFile               string
	instances                int  // for the criterion instances
	numbered                 bool // tags have the number of the request, of Pandora
}

// stream is a load: a phantom, a pool of Pandora, or BFG.
type stream struct {
	node      *yaml.Node
	generator string // "phantom", "pandora" or "bfg"
	address   string
	calls     *calls.Server // nil: HTTP
	tls       tlsConfig
	list      *ammo // nil: scenarios
	tags      tagging
	play      *playbook
	load      profile
	limit     uint64 // requests; 0: none
	loops     int    // passes; 0: no limit
	timeoutMs int64
	connectMs int64
	options   map[string]string // of the target
	via       string            // URL of the proxy
	clients   int               // connections that the instances share; 0: each has its own
	late      string            // what becomes of requests that are late: "queue" or "drop"
}

// tlsConfig is how connections are secured.
type tlsConfig struct {
	on        bool
	cert, key string
	http2     bool
}

// playbook is what Pandora's scenarios need.
type playbook struct {
	scenarios []scenario
	order     []int
	sources   string // JSON
	host      string
}

// ignored are the sections of plugins that don't change the load, with what brunt has instead.
var ignored = map[string]string{
	"uploader": "nothing is uploaded; --export sends figures", "overload": "nothing is uploaded; --export sends figures",
	"telegraf": "no machine is watched; see --watch", "monitoring": "no machine is watched; see --watch",
	"ycmonitoring": "no machine is watched; see --watch", "influx": "nothing is exported; use --export influx=URL",
	"opentsdb": "nothing is exported; use --export", "console": "", "rcheck": "", "resource_check": "", "json_report": "",
	"offline_report": "brunt report --html makes a page", "platform": "", "tips": "",
	"rcassert": "exit codes are checked with --threshold", "shellexec": "commands aren't executed", "meta": "",
	"android": "nothing of it is done", "yasm": "no machine is watched; see --watch",
}

// refusedSections are the sections of generators that brunt doesn't imitate.
var refusedSections = map[string]string{
	"jmeter": "use brunt jmeter for its plan", "shootexec": "it starts a program of its own",
}

// webGun is the name of the guns of phantom and BFG that send HTTP.
const webGun = "http"

// usualTimeout is phantom's timeout for a request, in ms.
const usualTimeout = 11_000

// Load reads a configuration: files that are merged, options "section.key=value", patches in YAML, and a list of
// requests from the command line.
func Load(o *Options) (*Config, error) {
	c := &Config{phout: "phout.log", ammo: o.Ammo, artifactsBase: "logs", reportFile: "autostop_report.txt"}
	for _, path := range o.Configs {
		err := c.addFile(path)
		if errors.Is(err, fs.ErrNotExist) && path == defaultConfig && o.Ammo != "" {
			err = fmt.Errorf("%w; %s is taken for the list of requests: name a configuration with -c", err, o.Ammo)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, option := range o.Set {
		c.addOption(option)
	}
	for _, patch := range o.Patches {
		n, err := parseYAML([]byte(patch))
		if err != nil {
			return nil, fmt.Errorf("-p: %w", err)
		}
		if n.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("-p: %q must be a mapping of sections", patch)
		}
		mark(n, "-p", 0)
		c.root = merge(c.root, n, 0)
	}
	c.read()
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return c, nil
}

func (c *Config) addFile(path string) error {
	text, err := command.ReadFile(path)
	if err != nil {
		return fmt.Errorf("can't open %s: %w", path, cause(err))
	}
	if isScenarios(text) {
		return fmt.Errorf("%s is %s", path, instead(text))
	}
	n, err := parseYAML(text)
	if err != nil {
		if ini(text) {
			err = fmt.Errorf("is an INI file of an old version; yandex-tank-converter makes a load.yaml of it")
		}
		return inFile(path, err)
	}
	if n.Kind != yaml.MappingNode {
		if ini(text) {
			return fmt.Errorf("%s: is an INI file of an old version; yandex-tank-converter makes a load.yaml of it", path)
		}
		return fmt.Errorf("%s:1:1: must be a mapping of sections, such as phantom", path)
	}
	if c.file == "" {
		c.file = path
	}
	mark(n, path, 0)
	c.root = merge(c.root, n, 0)
	return nil
}

var iniForm = lazyregexp.New(`(?m)^\s*\[\w+\]\s*$`)

func ini(text []byte) bool { return iniForm().Match(text) }

func cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// merge adds the keys of b to a. Mappings are merged, other values replaced.
func merge(a, b *yaml.Node, depth int) *yaml.Node {
	a, b = resolve(a), resolve(b)
	if a == nil || b == nil || a.Kind != yaml.MappingNode || b.Kind != yaml.MappingNode || depth > maxDepth {
		return b
	}
	for i := 0; i+1 < len(b.Content); i += 2 {
		found := false
		for k := 0; k+1 < len(a.Content); k += 2 {
			if a.Content[k].Value == b.Content[i].Value {
				a.Content[k+1], found = merge(a.Content[k+1], b.Content[i+1], depth+1), true
			}
		}
		if !found {
			a.Content = append(a.Content, b.Content[i], b.Content[i+1])
		}
	}
	return a
}

// schedules are options of the command line that stand for a load profile.
var schedules = map[string]string{"rps_schedule": "rps", "instances_schedule": "instances", "stpd_file": "stpd_file"}

// lists are options of the command line that hold several values, separated by spaces.
var lists = []string{"phantom.uris", "bfg.uris"}

var bracketed = lazyregexp.New(`\[(.*?)\]`)

// addOption adds an option "section.key=value".
func (c *Config) addOption(option string) {
	key, text, ok := strings.Cut(option, "=")
	section, name, dotted := strings.Cut(strings.TrimSpace(key), ".")
	if !ok || !dotted {
		c.faults = append(c.faults, fmt.Sprintf("-o %s: write section.key=value", option))
		return
	}
	text = strings.TrimSpace(text)
	at := "-o " + strings.TrimSpace(key)
	scalar := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s, Anchor: at} }
	value := scalar(text)
	list := func(items []string) *yaml.Node {
		n := &yaml.Node{Kind: yaml.SequenceNode, Anchor: at}
		for _, item := range items {
			n.Content = append(n.Content, scalar(item))
		}
		return n
	}
	mapping := func(content ...*yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Content: content, Anchor: at}
	}
	switch kind := schedules[name]; {
	case kind != "" && (section == "phantom" || section == "bfg"):
		name, value = "load_profile", mapping(scalar("load_type"), scalar(kind), scalar("schedule"), value)
	case name == "headers":
		var items []string
		for _, m := range bracketed().FindAllStringSubmatch(text, -1) {
			items = append(items, m[1])
		}
		value = list(items)
	case section == "autostop" && name == "autostop":
		value = list(splitCalls(text))
	case slices.Contains(lists, section+"."+name):
		value = list(strings.Fields(text))
	}
	words := strings.Split(name, ".")
	for i := len(words) - 1; i >= 0; i-- {
		value = mapping(scalar(words[i]), value)
	}
	c.root = merge(c.root, mapping(scalar(section), value), 0)
}

// splitCalls splits "time(1s,5s) net(xx,1,1)".
func splitCalls(text string) (all []string) {
	for part := range strings.SplitSeq(text, ")") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part+")")
		}
	}
	return all
}

// read reads the sections.
func (c *Config) read() {
	o := c.object(c.root, "the configuration")
	if o == nil {
		return
	}
	for _, e := range o.entries {
		c.section(e.key, e.value)
	}
	switch {
	case len(c.faults) > 0:
	case len(c.streams) == 0:
		c.fault(c.root, "no generator is enabled; add phantom, pandora or bfg with enabled: true")
	case len(c.streams) > 1:
		c.checkTogether()
	}
	if n := o.get("autostop"); n != nil && len(c.faults) == 0 {
		c.readAutostop(n)
	}
}

// section reads a section.
func (c *Config) section(key, n *yaml.Node) {
	name := key.Value
	switch name {
	case "version":
		return
	case "core", "tank":
		c.core(n)
		return
	case "autostop":
		return // see read
	}
	o := c.object(n, name)
	if o == nil {
		return
	}
	enabled := c.flag(o.get("enabled"), "enabled", name == "phantom") // as in Tank's own base configuration
	switch name {
	case "phantom":
		if enabled {
			c.phantom(o)
		}
		return
	case "pandora":
		if enabled {
			c.pandora(o)
		}
		return
	case "bfg":
		if enabled {
			c.bfg(o)
		}
		return
	}
	why, known := ignored[name]
	switch {
	case refusedSections[name] != "" && enabled:
		c.fault(key, "%s isn't available: %s", name, refusedSections[name])
	case refusedSections[name] != "":
	case known && why != "" && (enabled || name == "shellexec" || name == "telegraf" || name == "rcassert"):
		c.note("%s: %s", name, why)
	case known:
	case o.get("package") != nil:
		if enabled {
			c.note("%s: the plugin %s isn't started", name, c.text(o.get("package"), "package"))
		}
	default:
		names := append(sortedKeys(ignored), "core", "phantom", "pandora", "bfg", "autostop")
		c.object(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, n}}, "the configuration", names...)
	}
}

func (c *Config) core(n *yaml.Node) {
	o := c.object(n, "core", keysOf("core")...)
	if o == nil {
		return
	}
	if n := o.get("artifacts_base_dir"); n != nil {
		c.artifactsBase = c.text(n, "artifacts_base_dir")
	}
	c.artifacts = c.text(o.get("artifacts_dir"), "artifacts_dir")
	if c.text(o.get("affinity"), "affinity") != "" {
		c.note("core: affinity isn't followed")
	}
}

// phantom reads the section phantom.
func (c *Config) phantom(o *object) {
	o = c.object(o.node, "phantom", keysOf("phantom")...)
	if o == nil {
		return
	}
	s := &stream{generator: "phantom", options: map[string]string{"good": "200-399", "parts": "on"}, late: "queue"}
	for _, key := range sortedKeys(refusedKeys) {
		if n := o.get(key); n != nil && c.text(n, key) != "" {
			c.fault(n, "%s isn't available: %s", key, refusedKeys[key])
		}
	}
	if n := o.get("tank_type"); n != nil && c.text(n, "tank_type") != webGun {
		c.fault(n, "tank_type %s isn't available: requests are HTTP", n.Value)
	}
	if n := o.get("method_prefix"); n != nil && c.text(n, "method_prefix") != "method_stream" {
		c.fault(n, "method_prefix %s isn't available", n.Value)
	}
	if n := o.get("writelog"); n != nil && !slices.Contains([]string{"0", "false", ""}, strings.ToLower(n.Value)) {
		c.note("phantom: writelog isn't followed; no requests and answers are logged")
	}
	if file := c.text(o.get("phout_file"), "phout_file"); file != "" {
		c.phout = file
	}
	s.tls.on = c.flag(o.get("ssl"), "ssl", false)
	s.tls.cert = c.text(o.get("client_certificate"), "client_certificate")
	s.tls.key = c.text(o.get("client_key"), "client_key")
	s.address = c.address(o, "address", o.get("port"), s.tls.on, "phantom")
	timeout := cmp.Or(c.text(o.get("timeout"), "timeout"), "11s")
	ms, err := parseMs(timeout)
	if err != nil {
		c.fault(o.get("timeout"), "timeout: %v", err)
	}
	s.timeoutMs = cmp.Or(ms, usualTimeout)
	c.stepper(o, s, "phantom")
	s.node = o.node
	c.streams = append(c.streams, s)
	for _, n := range c.list(o.get("multi"), "multi") {
		c.part(o, n)
	}
}

// part reads a part of phantom's multi, which has the section's settings except for those that it gives itself.
func (c *Config) part(o *object, n *yaml.Node) {
	own := c.object(n, "a part of multi", keysOf("phantom")...)
	if own == nil {
		return
	}
	both := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, HeadComment: n.HeadComment}
	for _, e := range own.entries {
		both.Content = append(both.Content, e.key, e.value)
	}
	for _, e := range o.entries {
		given := slices.ContainsFunc(own.entries, func(of entry) bool { return of.key.Value == e.key.Value })
		if !given && e.key.Value != "multi" {
			both.Content = append(both.Content, e.key, e.value)
		}
	}
	c.phantom(&object{node: both})
}

// address reads an address: host, host:port, [host]:port, or an IPv6 address.
func (c *Config) address(o *object, key string, port *yaml.Node, secure bool, section string) string {
	n := cmp.Or(o.get(key), o.node)
	if n == o.node {
		c.fault(n, "%s has no %s; add %s: host:port", section, key, key)
		return ""
	}
	return c.hostPort(n, port, secure)
}

func (c *Config) hostPort(n, port *yaml.Node, secure bool) string {
	text := strings.TrimSpace(c.text(n, "address"))
	host, p, err := net.SplitHostPort(text)
	if err != nil {
		host, p = strings.Trim(text, "[]"), ""
	}
	if given := c.text(port, "port"); given != "" {
		p = given
	}
	if p == "" {
		p = "80"
		if secure {
			p = "443"
		}
	}
	if host == "" || strings.ContainsAny(host, " /") {
		c.fault(n, "address %q is no host:port", text)
	}
	return net.JoinHostPort(host, p)
}

// profile is a load profile.
type profile struct {
	kind     string // "rps", "instances" or "stpd_file"
	schedule string
	node     *yaml.Node
	sessions int
	// of Pandora: when instances start, in ms, and the phases: open ones, or those of a closed load
	startsMs       []int64
	phases, closed []plan.Phase
}

// stepper reads what the stepper is told: the load and the list of requests.
func (c *Config) stepper(o *object, s *stream, section string) {
	p := c.object(o.get("load_profile"), "load_profile", "load_type", "schedule")
	if p == nil {
		return
	}
	s.load = profile{kind: c.text(p.get("load_type"), "load_type"), schedule: c.text(p.get("schedule"), "schedule"),
		node: p.get("schedule"), sessions: c.whole(o.get("instances"), "instances", 1000)}
	if !slices.Contains([]string{"rps", "instances", "stpd_file"}, s.load.kind) {
		c.fault(p.get("load_type"), "load_type %q: use rps, instances or stpd_file", s.load.kind)
	}
	if s.load.sessions < 1 || s.load.sessions > mostInstances {
		c.fault(o.get("instances"), "instances: give a number from 1 to %d", mostInstances)
	}
	if s.load.schedule == "" {
		c.fault(p.node, "load_profile has no schedule; add for example schedule: line(1, 10, 5m)")
	}
	s.loops = max(c.whole(o.get("loop"), "loop", -1), 0)
	s.limit = uint64(max(c.whole(o.get("ammo_limit"), "ammo_limit", -1), 0))
	s.tags = tagging{auto: cmp.Or(c.text(o.get("autocases"), "autocases"), "0"),
		enum: c.flag(o.get("enum_ammo"), "enum_ammo", false)}
	if err := s.tags.check(); err != nil {
		c.fault(o.get("autocases"), "%v", err)
		return
	}
	uris, file := c.texts(o.get("uris"), "uris"), c.text(o.get("ammofile"), "ammofile")
	src := &source{name: file, kind: cmp.Or(c.text(o.get("ammo_type"), "ammo_type"), "phantom"),
		version: cmp.Or(c.text(o.get("header_http"), "header_http"), "1.0"), headers: c.texts(o.get("headers"), "headers")}
	if src.version != "1.0" && src.version != "1.1" {
		c.fault(o.get("header_http"), "header_http %q: use 1.0 or 1.1", src.version)
	}
	if c.ammo != "" {
		file, src.name = c.ammo, c.ammo
	}
	if s.load.kind == "stpd_file" {
		return
	}
	if section == "bfg" {
		c.missiles(o, s, file)
		return
	}
	switch {
	case len(uris) > 0 && file != "":
		c.fault(o.get("uris"), "both uris and ammofile are given; keep one")
	case len(uris) > 0:
		var err error
		if s.list, err = src.list(uris); err != nil {
			c.fault(o.get("headers"), "%v", err)
		}
	case file == "":
		c.fault(o.node, "%s has neither ammofile nor uris; add one of them", section)
	case !slices.Contains(ammoKinds, src.kind):
		c.fault(o.get("ammo_type"), "ammo_type %q: use %s", src.kind, strings.Join(ammoKinds, ", "))
	default:
		text, err := readFile(expand(file))
		if err == nil {
			s.list, err = src.read(text)
		}
		if err != nil {
			c.faultOf(o.get("ammofile"), file, err)
		}
	}
	c.chosen(o.get("chosen_cases"), s)
}

// faultOf adds the fault of a file that is named at a node, unless it has a place of its own.
func (c *Config) faultOf(n *yaml.Node, file string, err error) {
	if file != "" && strings.HasPrefix(err.Error(), file+":") {
		c.faults = append(c.faults, err.Error())
		return
	}
	c.fault(n, "%v", err)
}

// chosen keeps the requests with chosen tags.
func (c *Config) chosen(n *yaml.Node, s *stream) {
	if s.list == nil {
		return
	}
	if err := s.tags.apply(s.list, strings.Fields(c.text(n, "chosen_cases"))); err != nil {
		c.fault(n, "%v", err)
	}
	if k := s.list.skipped; k > 0 {
		c.note("%d lines of the access log aren't GET requests; they are left out", k)
	}
}

// expand replaces ~ at the beginning of a path.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// bfg reads the section bfg.
func (c *Config) bfg(o *object) {
	o = c.object(o.node, "bfg", keysOf("bfg")...)
	if o == nil {
		return
	}
	s := &stream{generator: "bfg", timeoutMs: mostTimeout, late: "queue",
		options: map[string]string{"good": "200-399", "parts": "on", "noreuse": "on", "redirects": "20", "http2": "off"}}
	if kind := c.text(o.get("gun_type"), "gun_type"); kind != webGun {
		n := o.get("gun_type")
		c.fault(cmp.Or(n, o.node), "gun_type %q isn't available: it is a program in Python; only http is sent", kind)
		return
	}
	s.node = o.node
	c.stepper(o, s, "bfg")
	c.streams = append(c.streams, s)
}

// mostTimeout is the time for a request where the tool has none, in ms.
const mostTimeout = 86_400_000

// missiles reads the paths of BFG's http gun.
func (c *Config) missiles(o *object, s *stream, file string) {
	g := c.object(o.get("gun_config"), "gun_config")
	if g == nil {
		return
	}
	base, ok := strings.CutPrefix(c.text(g.get("base_address"), "base_address"), "http://")
	if !ok {
		base, s.tls.on = strings.CutPrefix(c.text(g.get("base_address"), "base_address"), "https://")
	}
	host, prefix, _ := strings.Cut(base, "/")
	if prefix != "" {
		prefix = "/" + prefix
	}
	if host == "" || !ok && !s.tls.on {
		c.fault(cmp.Or(g.get("base_address"), g.node), "base_address must be a URL, such as http://host:port")
		return
	}
	s.address = c.hostPort(&yaml.Node{Kind: yaml.ScalarNode, Value: host, Line: g.node.Line, Column: g.node.Column}, nil,
		s.tls.on)
	kind := cmp.Or(c.text(o.get("ammo_type"), "ammo_type"), "caseline")
	switch {
	case file == "":
		c.fault(o.node, "bfg has no ammofile")
		return
	case kind != "line" && kind != "caseline":
		c.fault(o.get("ammo_type"), "ammo_type %q: the http gun takes line or caseline", kind)
		return
	}
	text, err := readFile(expand(file))
	if err == nil {
		s.list, err = missiles(file, kind, prefix, text)
	}
	if err != nil {
		c.faultOf(o.get("ammofile"), file, err)
		return
	}
	for i := range s.list.shots {
		s.list.shots[i].web.Header = [][2]string{{"User-Agent", "python-requests"}, {"Accept", "*/*"}}
	}
	c.chosen(o.get("chosen_cases"), s)
}
