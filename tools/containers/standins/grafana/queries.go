package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// result is what became of one query.
type result struct {
	Dashboard, Panel, Query string
	Rows                    int
	Error                   string `json:",omitempty"`
}

// maxAnswer bounds what is read of one answer.
const maxAnswer = 16 << 20

func (p *provisioning) runAll(ctx context.Context) (results []result) {
	for _, d := range p.dashboards {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				uid, kind := target.Datasource.UID, target.Datasource.Type
				if uid == "" {
					uid, kind = panel.Datasource.UID, panel.Datasource.Type
				}
				r := result{Dashboard: d.Title, Panel: panel.Title, Query: target.Expr + target.RawSQL}
				s, err := p.find(uid, kind)
				if err == nil {
					r.Rows, err = s.run(ctx, d.fill(r.Query))
				}
				if err != nil {
					r.Error = err.Error()
				}
				results = append(results, r)
			}
		}
	}
	return results
}

// fill replaces the dashboard's own variables in query by their present values.
func (d *dashboard) fill(query string) string {
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		value := fmt.Sprint(v.Query)
		if v.Current.Value != nil {
			value = fmt.Sprint(v.Current.Value)
		}
		query = strings.NewReplacer("${"+v.Name+"}", value, "$"+v.Name, value).Replace(query)
	}
	return query
}

var timeFilter = regexp.MustCompile(`\$__timeFilter\(([^()]+)\)`)

func (s *source) run(ctx context.Context, query string) (int, error) {
	if s.Type == "prometheus" {
		query = strings.NewReplacer("$__rate_interval", "1m", "$__interval", "30s", "$__range", "6h").Replace(query)
		var answer struct {
			Status, Error string
			Data          struct{ Result []json.RawMessage }
		}
		if err := ask(ctx, http.MethodGet, s.URL+"/api/v1/query?"+url.Values{"query": {query}}.Encode(), "", "", "", &answer); err != nil {
			return 0, err
		}
		return len(answer.Data.Result), nil
	}
	query = timeFilter.ReplaceAllString(query, "($1 >= now() - INTERVAL 6 HOUR AND $1 <= now())")
	var answer struct{ Rows int }
	address := fmt.Sprintf("%s://%s:%d/", s.JSONData.Protocol, s.JSONData.Host, s.JSONData.Port)
	err := ask(ctx, http.MethodPost, address, s.JSONData.Username, s.Secure.Password, query+" FORMAT JSON", &answer)
	return answer.Rows, err
}

func ask(ctx context.Context, method, address, user, password, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.500s", response.Status, text)
	}
	return json.Unmarshal(text, into)
}
