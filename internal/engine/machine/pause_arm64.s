#include "textflag.h"

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	MOVD $100, R0
again:
	YIELD
	SUBS $1, R0, R0
	BNE  again
	RET
