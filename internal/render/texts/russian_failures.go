package texts

// russianFailures are the texts of failures that brunt itself reports. Messages of servers are not translated.
var russianFailures = map[string]string{
	"no session is connected to any address":              "ни один сеанс не соединён ни с одним адресом",
	"the address that serves the request isn't connected": "нет соединения с адресом, который обслуживает запрос",
	"the codec lost its place in the answer":              "ответ не удалось разобрать",
	"the connection ended with an earlier answer":         "соединение закончилось с более ранним ответом",
	"the server closed the connection before it answered": "сервер закрыл соединение, не ответив",
	"the run was stopped before the answer came":          "прогон остановлен раньше, чем пришёл ответ",
	"no answer within the operation's timeout":            "нет ответа за отведённое время",
	"it may have been applied":                            "он мог исполниться",
	"other codes, not counted apart":                      "прочие коды, отдельно не подсчитаны",
}
