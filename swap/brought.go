package swap

import (
	"encoding/json"
	"slices"
)

// memberBound is the key in fields under which expand keeps the threshold of a quote that was sent
// back. No parameter has this name, so a client cannot set it.
const memberBound = "quote.bound"

// sentBack is a quote of ours that the client sends back, in our own format (the upper half) or in
// Jupiter's. Only its parameters and its threshold are used; the route is computed again from the
// present state.
type sentBack struct {
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

// expand replaces a quote that was sent back by its parameters and its threshold. Fields without a
// quote are returned unchanged. It is an error if the client also gives a parameter that is part of
// the quote.
func (f fields) expand() (fields, error) {
	name, text := f.get(fieldQuote)
	if text == "" {
		return f, nil
	}
	var b sentBack
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return nil, badRequest("%s must be a quote as this API answered it", name)
	}
	out := slices.DeleteFunc(slices.Clone(f), func(one field) bool { return one.name == name })
	isJupiter := b.InAmount != "" || b.InputMint != ""
	if isJupiter {
		// Jupiter's threshold is the least out, or with swapMode ExactOut the most in.
		b.SourceMint, b.TargetMint, b.AmountIn, b.AmountOut = b.InputMint, b.OutputMint, b.InAmount, b.OutAmount
		b.MinAmountOut, b.MaxAmountIn, b.Mode, b.SlippageBps = b.Threshold, b.Threshold, b.JupiterMode, b.Slippage
		if b.PlatformFee != nil {
			b.FeeBps = b.PlatformFee.FeeBps
		}
	}
	// A quote in Jupiter's format, or in Jupiter's parameter, is answered in Jupiter's format.
	if isJupiter || name != fieldQuote {
		out = out.with(fieldFormat, formatJupiter)
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
		if _, given := f.get(member); given != "" {
			return nil, badRequest("%s and %s are given: %s is part of the quote", name, member, member)
		}
		out = out.with(member, value)
	}
	if out.text(memberBound) == "" {
		return nil, badRequest("%s must be a quote as this API answered it: its threshold is missing", name)
	}
	return out, nil
}
