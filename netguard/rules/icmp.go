package rules

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// By default the kernel sends about one ICMP error a second to one peer: with that limit a refused UDP packet looks like a lost one.
const (
	icmpRateFile    = "/proc/sys/net/ipv4/icmp_ratelimit"
	icmpRateDefault = 1000
	icmpRateOff     = 0
)

// icmpRate returns the limit in force; the default where it cannot be read.
func icmpRate() int {
	text, err := os.ReadFile(icmpRateFile)
	if err != nil {
		return icmpRateDefault
	}
	rate, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return icmpRateDefault
	}
	return rate
}

func setICMPRate(rate int) error {
	if rate == icmpRate() {
		return nil
	}
	if err := os.WriteFile(icmpRateFile, []byte(strconv.Itoa(rate)), 0); err != nil {
		return fmt.Errorf("setting the rate limit of ICMP: %w", err)
	}
	return nil
}
