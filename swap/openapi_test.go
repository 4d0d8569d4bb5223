package swap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/openapi"
)

// schemas compiles those of the OpenAPI document, whose dialect is JSON Schema 2020-12, once each.
var schemas sync.Map

func schemaOf(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	if kept, ok := schemas.Load(name); ok {
		return kept.(*jsonschema.Schema)
	}
	source, err := openapi.SwapJSON()
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("openapi.json", document))
	schema, err := compiler.Compile("openapi.json#/components/schemas/" + name)
	require.NoError(t, err)
	schemas.Store(name, schema)
	return schema
}

// conforms holds a body to a schema of the OpenAPI document.
func conforms(t testing.TB, name string, body []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, schemaOf(t, name).Validate(value), string(body))
}

// TestAnswersConformToTheDocument, and the document names every parameter.
func TestAnswersConformToTheDocument(t *testing.T) {
	f := start(t, Config{}, onePool())
	for _, path := range []string{
		query(coin, swaptest.WrappedSOL, "1000000"), query(coin, swaptest.WrappedSOL, "1000000", fieldUser, wallet.String()),
		query(coin, swaptest.WrappedSOL, "", fieldMode, modeOut, fieldAmountOut, "5"),
	} {
		status, body := f.do(t, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, status, string(body))
		conforms(t, "Quote", body)
	}
	status, body := f.do(t, http.MethodGet, "/openapi.json", "")
	require.Equal(t, http.StatusOK, status)
	var document struct {
		Paths      map[string]map[string]struct{ Parameters []struct{ Name string } }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(body, &document))
	var named []string
	for _, p := range document.Paths[routeQuote]["get"].Parameters {
		named = append(named, p.Name)
	}
	for _, field := range order {
		if field != fieldQuote {
			require.True(t, slices.Contains(named, field), field)
		}
	}
	members := func(schema string) []string {
		return slices.Collect(maps.Keys(document.Components.Schemas[schema].Properties))
	}
	var jupiter []string
	for _, field := range order {
		if name := cmp.Or(aliases[field], field); !slices.Contains(jupiter, name) {
			jupiter = append(jupiter, name)
		}
	}
	require.ElementsMatch(t, order, members("SwapRequest"))
	require.ElementsMatch(t, jupiter, members("JupiterSwapRequest"))
	for path := range document.Paths {
		status, _ := f.do(t, http.MethodDelete, path, "")
		require.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusNotFound}, status, fmt.Sprint(path))
	}
}
