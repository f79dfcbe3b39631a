package rules

import (
	"fmt"
	"os"
	"strings"
)

// The kernel sends about one ICMP error a second to one peer unless told
// otherwise: with that limit a refused UDP packet looks like a lost one.
const (
	icmpRateFile    = "/proc/sys/net/ipv4/icmp_ratelimit"
	icmpRateDefault = "1000"
)

func icmpUnlimited() bool {
	text, err := os.ReadFile(icmpRateFile)
	return err == nil && strings.TrimSpace(string(text)) == "0"
}

// limitICMP turns the limit off, or back to the kernel's default if it is off.
func limitICMP(on bool) error {
	if on != icmpUnlimited() {
		return nil
	}
	value := "0"
	if on {
		value = icmpRateDefault
	}
	if err := os.WriteFile(icmpRateFile, []byte(value), 0); err != nil {
		return fmt.Errorf("setting the rate limit of ICMP: %w", err)
	}
	return nil
}
