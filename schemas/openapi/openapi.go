// Package openapi holds the description of the token API.
//
// In: openapi.yaml, the source. Out: the same document in JSON. Guarantees: OpenAPI 3.1; the API's
// tests hold every route and response to it.
package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var source []byte

// JSON returns the document in JSON, its keys sorted.
func JSON() ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	delete(document, "x-header-groups") // anchors of the source, of no use to a reader
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode openapi.yaml: %w", err)
	}
	return encoded, nil
}
