package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGeneratorsOfClients: the documents have what generators make good code of.
// tools/clients/generated runs the generators themselves.
func TestGeneratorsOfClients(t *testing.T) {
	for name, read := range map[string]func() ([]byte, error){"openapi.yaml": JSON, "swap.yaml": SwapJSON} {
		source, err := read()
		require.NoError(t, err)
		var document map[string]any
		require.NoError(t, json.Unmarshal(source, &document))
		var wrong []string
		walk(document, nil, func(path []string, schema map[string]any) {
			if rule := broken(path, schema); rule != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s", name, strings.Join(path, "/"), rule))
			}
		})
		slices.Sort(wrong)
		require.Empty(t, wrong, strings.Join(wrong, "\n"))
	}
}

// walk calls look with every object of a document, and the names that lead there.
func walk(value any, path []string, look func(path []string, object map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		look(path, value)
		for name, member := range value {
			if name != "example" {
				walk(member, append(slices.Clone(path), name), look)
			}
		}
	case []any:
		for i, item := range value {
			walk(item, append(slices.Clone(path), fmt.Sprint(i)), look)
		}
	}
}

// broken returns the rule that a schema breaks.
func broken(path []string, schema map[string]any) string {
	types, _ := schema["type"].([]any)
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	}
	maximum, bounded := schema["maximum"].(float64)
	_, hasProperties := schema["properties"].(map[string]any)
	isNamed := len(path) == 3 && path[0] == "components" && path[1] == "schemas"
	members, isEnum := schema["enum"].([]any)
	switch {
	case slices.Contains(types, any("number")) && schema["format"] == nil:
		return "without a format it has 32 bits in some languages: say double"
	case slices.Contains(types, any("integer")) && schema["format"] == nil && (!bounded || maximum >= 1<<31):
		return "without a format it has 32 bits in some languages: say int64"
	case hasProperties && len(types) > 0 && !isNamed:
		return "an object without a name gets one that says nothing: put it below components/schemas"
	case isEnum && (len(types) != 1 || slices.Contains(members, nil)):
		return "an enum has one type, and a name if it may be null"
	}
	return ""
}
