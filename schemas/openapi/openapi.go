// Package openapi has the OpenAPI documents of the token API and of the swap API.
//
// In: openapi.yaml and swap.yaml, the sources. Out: the same documents in JSON. Guarantees: OpenAPI
// 3.1; the APIs' tests check every route and response against them.
package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var source []byte

// JSON returns the document of the token API in JSON, its keys sorted.
func JSON() ([]byte, error) { return encode("openapi.yaml", source) }

//go:embed swap.yaml
var swapSource []byte

// SwapJSON returns the document of the swap API in JSON, its keys sorted.
func SwapJSON() ([]byte, error) { return encode("swap.yaml", swapSource) }

func encode(name string, source []byte) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	delete(document, "x-header-groups") // YAML anchors, which JSON readers do not need
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return encoded, nil
}
