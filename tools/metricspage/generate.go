package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The table stands between these lines.
const (
	begins = "<!-- begin: metrics -->\n"
	ends   = "<!-- end: metrics -->\n"
)

// generate returns the page with the table of the code under root.
func generate(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return "", err
	}
	before, rest, begun := strings.Cut(string(text), begins)
	_, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		return "", fmt.Errorf("%s: no %q and %q", page, begins, ends)
	}
	found, err := metricsOf(root)
	if err != nil {
		return "", err
	}
	return before + begins + table(found) + ends + after, nil
}

// table returns the lines of the metrics.
func table(found map[string]metric) string {
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	out.WriteString("| metric | type | labels | what |\n|---|---|---|---|\n")
	for _, name := range names {
		m := found[name]
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", name, m.kind, strings.Join(m.labels, ", "), m.help)
	}
	return out.String()
}

// metricsOf returns the metrics of all packages of the module, except tests and other modules.
func metricsOf(root string) (map[string]metric, error) {
	found := map[string]metric{}
	return found, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
			return filepath.SkipDir
		}
		p := newPackage()
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			p.files = append(p.files, file)
		}
		for name, m := range p.metrics() {
			if other, twice := found[name]; twice && !m.equal(other) {
				return fmt.Errorf("%s: metric %s is declared twice, with another help, type or labels", path, name)
			}
			found[name] = m
		}
		return nil
	})
}
