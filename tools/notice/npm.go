package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// explorer is where the pages for people are written. The licences of the packages that end up in
// the pages lie beside it, one file a version, so that NOTICE is made without npm.
const explorer = "web/explorer"

// addPackages adds what is bundled into the explorer: every package of its lock file that is not
// for building and not a peer that nobody imports.
func (d *document) addPackages(root string) error {
	data, err := os.ReadFile(filepath.Join(root, explorer, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("explorer: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Peer        bool
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return fmt.Errorf("explorer: read package-lock.json: %w", err)
	}
	var names []string
	for path, p := range lock.Packages {
		if path != "" && !p.Dev && !p.Peer {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	for _, path := range names {
		p := lock.Packages[path]
		if !slices.Contains(allowed, p.License) {
			return fmt.Errorf("explorer: %s: licence %s may not be linked, or is not known to tools/notice", path, p.License)
		}
		name := strings.TrimPrefix(path, "node_modules/")
		file := filepath.Join(root, explorer, "licences", strings.ReplaceAll(name, "/", "+")+"@"+p.Version+".txt")
		if err := d.addFile(file, "npm package "+name+" "+p.Version+" (explorer)", p.License); err != nil {
			return err
		}
	}
	return nil
}
