package swap

import (
	"encoding/json"
	"maps"
)

// memberBound is the name under which fields carry what a brought quote promised. No parameter has
// it.
const memberBound = "quote.bound"

// brought is a whole quote that the client sends back, in either convention. Of a quote its
// question and its promise are taken; the route is made anew from the state of now.
type brought struct {
	SourceMint   string      `json:"src_mint"`
	TargetMint   string      `json:"dst_mint"`
	AmountIn     string      `json:"amount_in"`
	AmountOut    string      `json:"amount_out"`
	MinAmountOut string      `json:"min_amount_out"`
	MaxAmountIn  string      `json:"max_amount_in"`
	Mode         string      `json:"swap_mode"`
	SlippageBps  json.Number `json:"slippage_bps"`
	FeeBps       json.Number `json:"fee_bps"`

	InputMint   string      `json:"inputMint"`
	OutputMint  string      `json:"outputMint"`
	InAmount    string      `json:"inAmount"`
	OutAmount   string      `json:"outAmount"`
	Threshold   string      `json:"otherAmountThreshold"`
	JupiterMode string      `json:"swapMode"`
	Slippage    json.Number `json:"slippageBps"`
	PlatformFee *struct {
		FeeBps json.Number `json:"feeBps"`
	} `json:"platformFee"`
}

// expand replaces a brought quote by the parameters that it answers. Without one
// it returns them as they are.
func (f fields) expand() (fields, error) {
	name, text := f.get(fieldQuote)
	if text == "" {
		return f, nil
	}
	var b brought
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return nil, badRequest("%s must be a quote as this API answered it", name)
	}
	out := maps.Clone(f)
	delete(out, name)
	theirs := b.InAmount != "" || b.InputMint != ""
	if theirs {
		b.SourceMint, b.TargetMint, b.AmountIn, b.AmountOut = b.InputMint, b.OutputMint, b.InAmount, b.OutAmount
		b.MinAmountOut, b.MaxAmountIn, b.Mode, b.SlippageBps = b.Threshold, b.Threshold, b.JupiterMode, b.Slippage
		if b.PlatformFee != nil {
			b.FeeBps = b.PlatformFee.FeeBps
		}
	}
	if theirs || name != fieldQuote {
		out[fieldFormat] = formatJupiter
	}
	members := map[string]string{
		fieldSource: b.SourceMint, fieldTarget: b.TargetMint, fieldMode: b.Mode, fieldSlippage: b.SlippageBps.String(), fieldFee: b.FeeBps.String(),
	}
	if b.Mode == modeOut || b.Mode == modeOutAlias {
		members[fieldAmountOut], members[memberBound] = b.AmountOut, b.MaxAmountIn
	} else {
		members[fieldAmount], members[memberBound] = b.AmountIn, b.MinAmountOut
	}
	for member, value := range members {
		if f[member] != "" || f[aliases[member]] != "" {
			return nil, badRequest("%s and %s are given: %s is part of the quote", name, member, member)
		}
		out[member] = value
	}
	if out[memberBound] == "" {
		return nil, badRequest("%s must be a quote as this API answered it: its threshold is missing", name)
	}
	return out, nil
}
