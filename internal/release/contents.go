package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeContents writes what each binary was built from, in CycloneDX's form (https://cyclonedx.org,
// version 1.6), as the binary itself says.
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

// part is a module. Its sum is that of go.sum.
func part(path, version, sum string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

// writeSums writes the SHA-256 of everything made, as sha256sum(1) reads it.
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.out) // sorted
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
