package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // makes nfpm.Get know it
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // makes nfpm.Get know it
)

// writeContents writes a list of the modules in each binary, in CycloneDX format (https://cyclonedx.org, version 1.6).
// The list is read from the binary.
func (r *release) writeContents() error {
	for _, t := range r.targets {
		path := r.binary(t)
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		e := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true)
		if err := e.EncodeVersion(r.contents(info), cyclonedx.SpecVersion1_6); err != nil {
			return err
		}
		r.say(path + ".cdx.json")
		if err := os.WriteFile(path+".cdx.json", b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) contents(info *debug.BuildInfo) *cyclonedx.BOM {
	brunt := cyclonedx.Component{
		BOMRef: "brunt", Type: cyclonedx.ComponentTypeApplication, Name: "brunt", Version: r.version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "AGPL-3.0-only"}}},
	}
	parts := []cyclonedx.Component{part("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, d := range info.Deps {
		d = cmp.Or(d.Replace, d)
		parts = append(parts, part(d.Path, d.Version, d.Sum))
	}
	var refs []string
	for _, p := range parts {
		refs = append(refs, p.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.made.Format(time.RFC3339), Component: &brunt}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "brunt", Dependencies: &refs}}
	return bom
}

// part returns the entry of a module. sum is its checksum in go.sum.
func part(path, version, sum string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version,
		PackageURL: url}
	if sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

// writeSums writes the SHA-256 of all files of the release in the format of sha256sum(1).
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.out) // sorted by name
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// packAll writes a .deb and an .rpm package for every Linux binary.
func (r *release) packAll() error {
	contents, err := r.shared()
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		if t.system != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(format, t, contents); err != nil {
				return fmt.Errorf("pack %s for %s: %w", format, t, err)
			}
		}
	}
	return nil
}

func (r *release) pack(format string, t target, shared files.Contents) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	contents := files.Contents{r.content(r.binary(t), "/usr/bin/brunt", 0o755)}
	for _, c := range shared {
		one := *c
		contents = append(contents, &one)
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "brunt", Arch: t.processor, Platform: "linux", Version: packageVersion(r.version, r.made.Format("20060102")),
		VersionSchema: "none",
		Section:       "utils", Priority: "optional", Maintainer: "brunt's authors <brunt@localhost>",
		License:     "AGPL-3.0-only",
		MTime:       r.made,
		Description: "load generator for databases and network services\nIt finds out what a server can take, and proves it.",
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "localhost", Summary: "Load generator for databases and network services"},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	path := filepath.Join(r.out, packager.ConventionalFileName(info))
	r.say(path)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func (r *release) content(source, destination string, mode os.FileMode) *files.Content {
	return &files.Content{Source: source, Destination: destination,
		FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.made, Owner: "root", Group: "root"}}
}

// shared returns the contents of the packages other than the binary.
func (r *release) shared() (files.Contents, error) {
	all := files.Contents{
		r.content(filepath.Join(r.pages, "completions/brunt"), "/usr/share/bash-completion/completions/brunt", 0o644),
		r.content(filepath.Join(r.pages, "completions/_brunt"), "/usr/share/zsh/vendor-completions/_brunt", 0o644),
		r.content(filepath.Join(r.pages, "completions/brunt.fish"), "/usr/share/fish/vendor_completions.d/brunt.fish", 0o644),
		r.content(filepath.Join(r.source, "LICENSE.md"), "/usr/share/doc/brunt/copyright", 0o644),
		r.content(filepath.Join(r.pages, "schemas/plan.schema.json"), "/usr/share/doc/brunt/plan.schema.json", 0o644),
		r.content(filepath.Join(r.pages, "schemas/campaign.schema.json"), "/usr/share/doc/brunt/campaign.schema.json", 0o644),
	}
	for pattern, to := range map[string]string{"docs/*.md": "", "examples/*": "examples"} {
		found, err := filepath.Glob(filepath.Join(r.source, pattern))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("nothing is %s: %v", pattern, err)
		}
		for _, f := range found {
			all = append(all, r.content(f, filepath.Join("/usr/share/doc/brunt", to, filepath.Base(f)), 0o644))
		}
	}
	pages, err := filepath.Glob(filepath.Join(r.pages, "man1/*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if err := compress(page); err != nil {
			return nil, err
		}
		all = append(all, r.content(page+".gz", "/usr/share/man/man1/"+filepath.Base(page)+".gz", 0o644))
	}
	return all, nil
}

// compress writes a compressed copy of a file next to it. The copy contains neither name nor date, so that it is
// reproducible.
func compress(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(text)
	z.Close()
	return os.WriteFile(path+".gz", b.Bytes(), 0o644)
}

var tagged = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:-(.+))?$`)

// packageVersion returns a version that dpkg and rpm can order. The description by git begins with a tag, or is a
// commit's hash, before which the date is put.
func packageVersion(described, date string) string {
	described = strings.TrimSuffix(described, "-dirty")
	if m := tagged.FindStringSubmatch(described); m != nil && strings.Contains(m[1], ".") {
		if m[2] == "" {
			return m[1]
		}
		return m[1] + "+" + strings.ReplaceAll(m[2], "-", ".")
	}
	return "0+" + date + "." + strings.ReplaceAll(described, "-", ".")
}
