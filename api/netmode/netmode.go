// Package netmode names the network modes of the schema as the settings do.
package netmode

import aiboxv1 "aibox/api/aibox/v1"

// Names are the values of the setting network, by the network mode. It is read-only.
var Names = map[aiboxv1.NetworkMode]string{
	aiboxv1.NetworkMode_NETWORK_MODE_NONE:      "none",
	aiboxv1.NetworkMode_NETWORK_MODE_LOCAL:     "local",
	aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST: "allowlist",
	aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC:    "public",
}
