package texts

// russianInspect are the texts of the chapter on databases.
var russianInspect = map[string]string{
	"DATABASE": "БАЗА ДАННЫХ", "STATEMENTS": "ЗАПРОСЫ", "STATEMENTS BY PHASE": "ЗАПРОСЫ ПО ЭТАПАМ", "WAITS": "ОЖИДАНИЯ",
	"CONNECTIONS": "СОЕДИНЕНИЯ", "LOCKS": "БЛОКИРОВКИ",
	"REPLICAS": "РЕПЛИКИ", "TABLES": "ТАБЛИЦЫ", "INDEXES": "ИНДЕКСЫ", "FINDINGS": "НАХОДКИ", "PLAN %d": "ПЛАН %d",
	"what it said of itself; warm-up excluded":                                    "что она сообщила о себе; без прогрева",
	"most of the server's time first; response: the operation's p50":              "сначала те, что заняли больше всего времени сервера; отклик: p50 операции",
	"mean time of a call":                                                         "среднее время одного вызова",
	"active sessions at a time, by %d samples":                                    "активных сеансов одновременно, по %d замерам",
	"of each application; all at work: share of the samples":                      "каждого приложения; заняты все: доля замеров",
	"who waited for whom":                                                         "кто кого ждал",
	"the worst seen":                                                              "худшее из увиденного",
	"● bounds what the server can take · ! costs time, or will · i worth knowing": "● ограничивает сервер · ! стоит времени или будет · i полезно знать",
	"cache": "кеш", "of %s pages asked for were in it": "из %s запрошенных страниц были в нём",
	"transactions": "транзакции", "%s rolled back, %s deadlocks": "откатов %s, взаимных блокировок %s",
	"temporary files": "временные файлы", "settings": "настройки",
	"that differ from the defaults": "отличные от умолчаний",
	"asking it":                     "цена опроса",
	"of the time at most: %d questions, %d samples; %s after the load": "времени, не больше: вопросов %d, замеров %d; %s после нагрузки",
	"calls": "вызовы", "rows": "строки", "pages": "страницы", "statement": "запрос",
	"and %d more, see %s": "и ещё %d, см. %s",
	"≈ the operation was done just as often as the statement was executed": "≈ операция сделана ровно столько раз, сколько выполнен запрос",
	"class": "класс", "event": "событие", "share": "доля", "application": "приложение", "at work": "заняты",
	"all at work": "заняты все", "idle in transaction": "простой в транзакции",
	"waiting": "ждёт", "held by": "держит", "longest": "дольше всего", "lock": "блокировка", "name": "имя",
	"state": "состояние", "behind": "отстаёт на", "lag": "запаздывание",
	"table": "таблица", "scans": "просмотры", "read by them": "прочитано ими", "by index": "по индексу",
	"inserted": "вставлено", "updated": "изменено", "deleted": "удалено", "alive": "живых", "dead": "мёртвых",
	"index": "индекс", "entries read": "прочитано записей", "size": "размер",
	"PROPOSALS": "ПРЕДЛОЖЕНИЯ",
	"share of all statements' costs, as the planner sees them": "доля стоимости всех запросов, как её видит планировщик",
	"no index would save enough to be worth it":                "ни один индекс не сберёг бы столько, чтобы окупиться",
	"tried with HypoPG": "проверен через HypoPG", "tried by building it": "проверен постройкой",
	"saves %s, takes %s; %s": "сберегает %s, занимает %s; %s",
	"kept: %s":               "оставлен: %s", "not kept: %s": "не оставлен: %s",
	"WHO GAINS AND WHO PAYS":          "КТО ВЫИГРЫВАЕТ И КТО ПЛАТИТ",
	"the planner's costs of one call": "стоимость одного вызова по планировщику", "before": "до", "after": "после",
	"Waits": "Ожидания", "active sessions of the database by what they wait for; CPU: for nothing": "активные сеансы базы по тому, чего они ждут; CPU: ничего",
	"step": "шаг", "planned for": "ожидалось", "met": "встретилось", "discarded": "отброшено",
	"executed, and rolled back":               "выполнен и откачен",
	"planned for any arguments, not executed": "план для любых значений, не выполнялся", "not executed": "не выполнялся",
	"with the load's own arguments: %s":          "со значениями самой нагрузки: %s",
	"with arguments from a row of the table: %s": "со значениями из строки таблицы: %s",
}

// russianFindings are the sentences of findings, piece by piece where they are joined by "; ".
var russianFindings = map[string]string{

	"if that doesn't mend it, raise the statistics target of the columns in the condition": "если не поможет, увеличьте точность статистики столбцов условия",

	"%s sessions at a time (%s of the active ones) waited for locks on %s, up to %s": "%s сеансов одновременно (%s активных) ждали блокировок на %s, до %s",
	"%s sessions at a time (%s of the active ones) waited for locks, up to %s":       "%s сеансов одновременно (%s активных) ждали блокировок, до %s",

	"the holder was %s: its client keeps the transaction open. shorten the transactions that change these rows: change them last, without pauses before COMMIT": "держатель был в состоянии %s: его клиент не закрывает транзакцию. Сократите транзакции, меняющие эти строки: меняйте их последними, без пауз перед COMMIT",

	"all": "все",

	"as a superuser: GRANT %s TO %s": "от имени суперпользователя: GRANT %s TO %s",
}
