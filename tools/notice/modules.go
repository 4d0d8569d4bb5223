package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platforms are the architectures of a release.
var platforms = []string{"amd64", "arm64"}

// module is a Go module that the binary links.
type module struct {
	Path, Version string
	Dir           string
	Main          bool
	packages      map[string]bool // folders of the packages that are linked
}

// linked lists the modules of ./cmd/mintlake on every platform, sorted by path.
func linked(root string) ([]*module, error) {
	found := map[string]*module{}
	for _, arch := range platforms {
		list := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/mintlake")
		list.Dir, list.Stderr = root, os.Stderr
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", arch, err)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var pkg struct {
				Dir    string
				Module *module
			}
			if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read go list: %w", err)
			}
			if pkg.Module == nil || pkg.Module.Main {
				continue // the standard library, and Mintlake itself
			}
			m := found[pkg.Module.Path]
			if m == nil {
				m = pkg.Module
				m.packages = map[string]bool{}
				found[m.Path] = m
			}
			m.packages[pkg.Dir] = true
		}
	}
	modules := make([]*module, 0, len(found))
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// texts returns the licences and notices in the folders from each linked package up to the module's
// root, by name of the file.
func (m *module) texts() (map[string]string, error) {
	folders := map[string]bool{m.Dir: true}
	for dir := range m.packages {
		for ; dir != m.Dir && strings.HasPrefix(dir, m.Dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, name := range bundled[m.Path] {
		folders[filepath.Join(m.Dir, name)] = true
	}
	texts := map[string]string{}
	for dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read module %s: %w", m.Path, err)
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !isLicence(entry.Name()) {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read module %s: %w", m.Path, err)
			}
			relative, err := filepath.Rel(m.Dir, path)
			if err != nil {
				return nil, fmt.Errorf("read module %s: %w", m.Path, err)
			}
			texts[relative] = tidy(string(data))
		}
	}
	return texts, nil
}

// isLicence says whether a file's name is that of a licence or of a notice that goes with it.
func isLicence(name string) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".sh") {
		return false
	}
	for _, prefix := range []string{"license", "licence", "copying", "notice", "third-party-notices"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// tidy makes texts that differ in line ends and blanks at the end of lines alike.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}
