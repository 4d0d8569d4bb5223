package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// source is a provisioned data source.
type source struct {
	Name, UID, Type, URL string
	JSONData             struct {
		Host, Protocol, Username string
		Port                     int
	} `yaml:"jsonData"`
	Secure struct{ Password string } `yaml:"secureJsonData"`
}

type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
			Current    struct{ Value any }
		}
	}
	Panels []struct {
		Title, Type string
		Datasource  struct{ UID, Type string }
		Targets     []struct {
			Expr       string
			RawSQL     string `json:"rawSql"`
			Datasource struct{ UID, Type string }
		}
	}
}

type provisioning struct {
	sources    []source
	dashboards []dashboard
}

// load reads what Grafana reads at its start, and refuses what Grafana would log and skip.
func load(folder string) (*provisioning, error) {
	p := &provisioning{}
	var listed struct{ Datasources []source }
	if err := readAll(filepath.Join(folder, "datasources"), &listed, func() { p.sources = append(p.sources, listed.Datasources...) }); err != nil {
		return nil, err
	}
	var providers struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	var folders []string
	if err := readAll(filepath.Join(folder, "dashboards"), &providers, func() {
		for _, one := range providers.Providers {
			folders = append(folders, one.Options.Path)
		}
	}); err != nil {
		return nil, err
	}
	uids := map[string]bool{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil || len(files) == 0 {
			return nil, errors.Join(fmt.Errorf("no dashboard in %s", folder), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			var d dashboard
			if err := json.Unmarshal(text, &d); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if d.UID == "" || uids[d.UID] {
				return nil, fmt.Errorf("%s: uid %q is missing or taken", file, d.UID)
			}
			uids[d.UID] = true
			p.dashboards = append(p.dashboards, d)
		}
	}
	return p, nil
}

// readAll reads each file of a folder into value, and calls then after each. It replaces $NAME by
// the environment variable, as Grafana does.
func readAll(folder string, value any, then func()) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.y*ml"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("no provisioning in %s", folder), err)
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the operator's folder
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal([]byte(os.ExpandEnv(string(text))), value); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		then()
	}
	return nil
}

// find returns the data source with this uid. If uid is empty, or a variable such as ${datasource},
// it returns the first data source of this type: a variable has that one by default.
func (p *provisioning) find(uid, kind string) (source, error) {
	for _, s := range p.sources {
		if s.UID == uid {
			return s, nil
		}
	}
	for _, s := range p.sources {
		if s.Type == kind && (uid == "" || uid[0] == '$') {
			return s, nil
		}
	}
	return source{}, fmt.Errorf("no provisioned data source for uid %q, type %q", uid, kind)
}
