package logos

import (
	"encoding/json"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// foldImported folds the facts of another node's snapshot. Such facts have only the status of a
// check. The first check here adds the rest.
func (e *entry) foldImported(enrichment *eventspb.Enrichment) {
	for _, fact := range registry.FactsOfEnrichment(enrichment) {
		switch fact.Register {
		case registry.RegisterOffchain:
			var document registry.Offchain
			if json.Unmarshal([]byte(fact.Value), &document) == nil {
				e.foldDocument(fact.Position.Slot, uriHash([]byte(document.URI)), document.Image)
			}
		case registry.RegisterTokenList:
			var entry registry.ListEntry
			if json.Unmarshal([]byte(fact.Value), &entry) == nil {
				e.foldList(listed{fact.Item, fact.Position.Order, entry.LogoURI})
			}
		case registry.RegisterLogoOverride:
			var override registry.LogoOverride
			if json.Unmarshal([]byte(fact.Value), &override) == nil {
				e.foldOverride(fact.Position.Order, override)
			}
		case registry.RegisterLogo:
			var logo registry.Logo
			if json.Unmarshal([]byte(fact.Value), &logo) == nil {
				status := eventspb.LogoStatus_LOGO_STATUS_BROKEN
				if logo.Status == registry.LogoOK {
					status = eventspb.LogoStatus_LOGO_STATUS_OK
				}
				e.foldCheck(fact.Position.Slot, &eventspb.Logo{Url: logo.URL, Status: status, Check: fact.Position.Order, Purge: logo.Purge})
			}
		default: // says nothing of logos
		}
	}
}
