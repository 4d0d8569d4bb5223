package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
)

//go:embed docs.html
var docsTemplate string

// docsPolicy forbids scripts and the loading of any other file. The page needs neither.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

// getOpenAPI is GET /openapi.json.
func (s *Server) getOpenAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderCacheControl, cacheMinutes)
	return c.Send(s.openapi)
}

// getDocs is GET /docs: the OpenAPI document for people. With ?plain, or if the node has no Docs,
// it is the page without scripts.
func (s *Server) getDocs(c *fiber.Ctx) error {
	if s.deps.Docs != nil && !c.Context().QueryArgs().Has("plain") {
		return adaptor.HTTPHandler(s.deps.Docs)(c)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, docsPolicy)
	c.Set(fiber.HeaderCacheControl, cacheMinutes)
	return c.Send(s.docs)
}

// document has the parts of the OpenAPI document that /docs and /llms.txt show.
type document struct {
	Info struct {
		Title, Version, Description string
	}
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]schema
	}
}

type operation struct {
	Summary, Description string
	Parameters           []struct {
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	RequestBody struct {
		Content map[string]struct{ Example any }
	}
	Responses map[string]struct{ Description string }
	Example   string `json:"x-example"`
}

type schema struct {
	Type        any
	Ref         string `json:"$ref"`
	Items       *schema
	Enum        []any
	Default     any
	Minimum     any
	Maximum     any
	Description string
	Required    []string
	Properties  map[string]schema
}

// Kind returns the type in words, such as "array of string", or the name of the schema that $ref
// names.
func (s schema) Kind() string {
	switch t := s.Type.(type) {
	case string:
		if t == "array" && s.Items != nil {
			return "array of " + s.Items.Kind()
		}
		return t
	case []any:
		var parts []string
		for _, part := range t {
			parts = append(parts, fmt.Sprint(part))
		}
		return strings.Join(parts, " or ")
	}
	return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
}

// Requires returns whether a property is always present.
func (s schema) Requires(name string) bool { return slices.Contains(s.Required, name) }

// renderDocs renders the page. It is called once, because the page never changes.
func renderDocs(openapi []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(openapi, &d); err != nil {
		return nil, fmt.Errorf("api: read openapi for docs: %w", err)
	}
	page, err := template.New("docs").Funcs(template.FuncMap{
		"upper": strings.ToUpper,
		"paths": func() []string { return slices.Sorted(maps.Keys(d.Paths)) },
	}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("api: docs template: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, d); err != nil {
		return nil, fmt.Errorf("api: render docs: %w", err)
	}
	return out.Bytes(), nil
}
