package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// document collects what NOTICE will say.
type document struct {
	modules strings.Builder
	reasons strings.Builder
	texts   map[string][]string // the owners of each text, by the text
}

const header = `Mintlake

Mintlake is under the Apache License, Version 2.0: see LICENSE.

This file is written by tools/notice (make gen). It names every module that the binary links and every npm package of its pages,
the licence of each, and the texts of these licences.

libchdb, the embedded ClickHouse engine, is not part of the binary or of its packages: "mintlake deps" fetches it, and images may hold
it beside the binary. It is ClickHouse, Copyright ClickHouse, Inc., under the Apache License, Version 2.0.

Source of a module: its path and version, from any Go module proxy. Modules under MPL-2.0 are linked unchanged.
`

// generate makes NOTICE for the module at root.
func generate(root string) ([]byte, error) {
	modules, err := linked(root)
	if err != nil {
		return nil, err
	}
	doc := &document{texts: map[string][]string{}}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	problems := []error{
		doc.addFile(filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE"), "Go's standard library", "BSD-3-Clause"),
		doc.addFile(filepath.Join(root, "replica/evidence/confusables.LICENSE"), "confusable characters of Unicode (replica/evidence)", "Unicode-3.0"),
	}
	problems = append(problems, doc.addPackages(root))
	for _, m := range modules {
		problems = append(problems, doc.addModule(m))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString(header)
	out.WriteString("\n== What is linked\n\n" + doc.modules.String())
	out.WriteString("\n== What the archives do not say\n" + doc.reasons.String())
	out.WriteString("\n== Texts\n")
	sections := make([]string, 0, len(doc.texts))
	for text, owners := range doc.texts {
		slices.Sort(owners)
		sections = append(sections, "\n-- "+strings.Join(slices.Compact(owners), "\n-- ")+"\n\n"+text)
	}
	slices.Sort(sections)
	for _, section := range sections {
		out.WriteString(section)
	}
	return []byte(out.String()), nil
}

// addFile adds a text that belongs to no module. It returns an error if the text is not that of the
// licence.
func (d *document) addFile(path, owner, licence string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", owner, err)
	}
	text := tidy(string(data))
	if got := classify(filepath.Base(path), text); got != licence {
		return fmt.Errorf("%s: the licence is %s, not %s", owner, got, licence)
	}
	_, _ = fmt.Fprintf(&d.modules, "%s: %s\n", owner, licence)
	d.texts[text] = append(d.texts[text], owner)
	return nil
}

// addModule adds a module, or says why it may not be linked.
func (d *document) addModule(m *module) error {
	texts, err := m.texts()
	if err != nil {
		return err
	}
	licence, err := d.judge(m, texts)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		owner := m.Path
		if name != "LICENSE" {
			owner += " (" + name + ")"
		}
		d.texts[texts[name]] = append(d.texts[texts[name]], owner)
	}
	_, err = fmt.Fprintf(&d.modules, "%s %s: %s\n", m.Path, m.Version, licence)
	return err
}

// judge returns the licences of a module, separated by commas. It removes a text that is not the
// module's own from texts.
func (d *document) judge(m *module, texts map[string]string) (string, error) {
	if e, ok := exceptions[m.Path]; ok {
		if e.version != m.Version {
			return "", fmt.Errorf("%s: exceptions.go is about %s, now it is %s: look at its licence again", m.Path, e.version, m.Version)
		}
		delete(texts, e.leaveOut)
		_, _ = fmt.Fprintf(&d.reasons, "\n%s %s\n%s\n", m.Path, m.Version, e.why)
		return e.licence, nil
	}
	var licences []string
	for name, text := range texts {
		licence := classify(name, text)
		switch {
		case licence == noticeOnly:
		case !slices.Contains(allowed, licence):
			return "", fmt.Errorf("%s %s: %s: licence %s may not be linked, or is not known to tools/notice", m.Path, m.Version, name, licence)
		default:
			licences = append(licences, licence)
		}
	}
	if len(licences) == 0 {
		return "", fmt.Errorf("%s %s: its archive holds no licence", m.Path, m.Version)
	}
	slices.Sort(licences)
	return strings.Join(slices.Compact(licences), ", "), nil
}
