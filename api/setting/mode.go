// Package setting converts the fields of the schema that are settings of a run, in both
// directions. It holds no value and decides nothing: ranges are checked by the settings.
package setting

import aiboxv1 "aibox/api/aibox/v1"

// Modes are the values of the setting network, by the network mode. It is read-only.
var Modes = map[aiboxv1.NetworkMode]string{
	aiboxv1.NetworkMode_NETWORK_MODE_NONE:      "none",
	aiboxv1.NetworkMode_NETWORK_MODE_LOCAL:     "local",
	aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST: "allowlist",
	aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC:    "public",
}

// ToMode returns the network mode of a value of the setting network. An unknown value is
// unspecified.
func ToMode(value string) aiboxv1.NetworkMode {
	for mode, name := range Modes {
		if name == value {
			return mode
		}
	}
	return aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED
}
