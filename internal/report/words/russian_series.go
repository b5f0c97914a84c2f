package words

// russianSeries are the texts of series and campaigns.
var russianSeries = map[string]string{
	// Searches.
	"MAXIMUM": "МАКСИМУМ", "TRIALS": "ИСПЫТАНИЯ", "LOAD CURVE": "КРИВАЯ НАГРУЗКИ", "sustains": "выдерживает", "doesn't sustain": "не выдерживает", "not offered": "не предложено",
	"bracket": "вилка", "search": "поиск", "profile": "профиль", "knee": "перегиб", "scalability": "масштабируемость", "a trial passes if": "испытание пройдено, если",
	"N %s, passed %d of %d trials": "N %s, пройдено испытаний: %d из %d", "N %s, failed %d of %d trials": "N %s, не пройдено испытаний: %d из %d",
	"N %s: the generator couldn't": "N %s: генератор не смог", "N %s; what more it can do isn't known": "N %s; что сверх этого, неизвестно", "N %s": "N %s", "N = 1": "N = 1",
	"between them; wanted: %s": "между ними; требовалось: %s", "N %s: most operations for the time that each takes": "N %s: больше всего операций на время каждой",
	"peak of %s/s": "вершина %s/с", "no peak in reach": "вершина не видна", "contention %s, coherency %s, R² %s": "очередь %s, согласование %s, R² %s",
	"at %s in flight; contention %s, coherency %s, R² %s": "при %s в пути; очередь %s, согласование %s, R² %s",
	"purpose": "цель", "why": "почему", "too few sessions: tried again with more": "мало сеансов: повторено с большим числом",
	"found": "найден", "passes at the highest load allowed": "пройдена высшая разрешённая нагрузка", "fails at the lowest load allowed": "не пройдена низшая разрешённая нагрузка",
	"limited by the generator": "ограничен генератором", "out of trials": "испытания исчерпаны", "stopped": "остановлен",
	"base line": "базовая", "rise": "подъём", "fall": "спуск", "bisect": "деление", "estimate": "оценка", "margin": "запас", "confirm": "подтверждение", "refute": "опровержение",
	// Settings.
	"SETTINGS": "НАСТРОЙКИ", "each measured %d times at N %s, in shuffled order": "каждая измерена %d раз при N %s, в случайном порядке",
	"best": "лучшая", "best, and advised": "лучшая, её и советуем", "advised: the smallest within %s of the best": "советуем: наименьшая в пределах %s от лучшей",
	"not to be told from the best": "не отличить от лучшей", "an interval needs 2 repetitions": "для интервала нужны 2 повторения",
	// Timetables.
	"TIMETABLE": "РАСПИСАНИЕ", "does": "что делает", "lasts": "длится", "begins": "начало", "disk": "диск", "took": "заняло", "result": "результат",
	"CAMPAIGN": "КАМПАНИЯ", "the maximum": "максимум", "%s of the profile": "%s профиля", "prepare the data": "подготовить данные",
	"find the maximum by at most %d trials of %s": "найти максимум не более чем за %d испытаний по %s", "rise to %s, hold it for %s": "плавно поднять нагрузку (до: %s) и удерживать %s",
	"hold %s for %s, watch memory and connections": "удерживать нагрузку (%s) в течение %s, следить за памятью и соединениями", "look into the database at %s": "проанализировать базу данных (нагрузка: %s)",
	"apply the fix": "применить исправление", "count connections at %s": "посчитать соединения (нагрузка: %s)", "compare %d settings at %s, each measured %d times": "сравнить настройки (%d; нагрузка: %s), каждую измерить %d раз",
	"write the document": "написать отчёт", "ends about %s, without what commands take; bundles take about %s": "окончание около %s, не считая команд; записи займут около %s",
	"a rehearsal: all durations are shortened to %s of what the campaign asks for": "репетиция: все длительности сокращены до %s от заданных",
	// Documents.
	"Load test of %s": "Отчёт по нагрузочному тестированию: %s", "Contents": "Оглавление", "Goals and load profile": "Цели, задачи и профиль нагрузки", "GOALS": "ЦЕЛИ И ЗАДАЧИ", "LOAD PROFILE": "ПРОФИЛЬ НАГРУЗКИ",
	"Results": "Результаты тестирования", "Maximum": "Максимальная производительность", "%s, before the fixes": "%s (до оптимизации)", "%s, after the fixes": "%s (после оптимизации)",
	"MAXIMUM BY OPERATION": "МАКСИМУМ ПО ОПЕРАЦИЯМ", "What the fixes brought": "Что дала оптимизация",
	"The maximum rose from %s/s to %s/s, %s times.": "Максимум вырос с %s/с до %s/с, в %s раза.",
	"Statements of the database":                    "Запросы к базе данных", "Statements of the database, before and after": "Запросы к базе данных до и после", "calls before": "вызовы до", "mean before": "среднее до", "calls after": "вызовы после", "mean after": "среднее после", "faster": "быстрее",
	"before: at N = %s; after: at N = %s": "до: при N = %s; после: при N = %s", "Tests": "Проведённые тесты", "began %s, took %s; folder %s": "начат %s, занял %s; папка %s",
	"Throughput by load": "Производительность от нагрузки", "Response time by load": "Время отклика от нагрузки", "Cores of what was watched, by load": "Ядра наблюдаемых процессов от нагрузки",
	"FIGURES": "ПОКАЗАТЕЛИ", "bundle": "запись", "severity": "важность", "about": "о чём", "evidence": "свидетельство", "advice": "совет",
	"total": "всего", "most": "наибольшее", "active": "активны", "what active sessions waited for": "чего ждали активные сеансы", "PLAN": "ПЛАН", "expected rows": "ожидалось строк", "saves": "экономит", "gain": "выигрывают", "pay": "платят", "WHAT GAINS": "ЧТО ВЫИГРЫВАЕТ", "planner's costs of one call": "оценка планировщика за один вызов",
	"Settings compared: overview":          "Сравнение настроек: обзор",
	"These settings don't carry the load.": "Эти настройки не выдерживают нагрузку.", "The best.": "Лучшие настройки.", "Not to be told from the best.": "От лучших не отличить.",
	"Differs from the best: %s of its figure.": "Отличается от лучших: %s их показателя.",
	"Tools": "Инструменты тестирования", "TOOLS": "ИНСТРУМЕНТЫ", "tool": "инструмент", "for": "для чего", "load, search, measurement, this document": "нагрузка, поиск, измерение, этот отчёт",
	"what was tested, over %s": "испытуемый, по %s", "the database behind it": "база данных за ним", "Test stand": "Тестовый стенд", "MACHINE": "МАШИНА", "that generated the load": "с которой шла нагрузка",
	"host": "узел", "go": "go", "TARGETS": "ЦЕЛИ", "product": "продукт", "SETTINGS OF THE SERVICE": "НАСТРОЙКИ СЕРВИСА", "SETTINGS OF THE DATABASE": "НАСТРОЙКИ БАЗЫ ДАННЫХ",
	"setting": "настройка", "value": "значение", "default": "по умолчанию",
	"The service and the load generator ran on one machine, so they shared its cores.": "Тестируемый сервис и генератор нагрузки работали на одной машине и делили её ядра.",
	"These figures are no results: %s.":                                                "Эти цифры не результат: %s.",
	// Sentences of steps.
	"Preparation": "Подготовка", "Maximum performance": "Максимальная производительность", "Confirmation of the maximum": "Подтверждение максимальной производительности", "Reliability": "Тест надёжности",
	"Analysis of the database": "Анализ производительности БД", "Optimisation": "Оптимизация", "Connections to the database": "Количество соединений с БД", "Settings compared": "Сравнение настроек", "Document": "Отчёт",
	"The service sustains N = %s (%s/s) and doesn't sustain N = %s (%s/s): %s.": "Сервис выдерживает N = %s (%s/с) и не выдерживает N = %s (%s/с): %s.",
	"The service sustains N = %s (%s/s); its maximum isn't known: %s.":          "Сервис выдерживает N = %s (%s/с); его максимум неизвестен: %s.",
	"No load was found that the service sustains: %s.":                          "Нагрузка, которую сервис выдерживает, не найдена: %s.",
	"At N = %s (%s/s) no degradation was seen: p95 %s, %s failed.":              "При N = %s (%s/с) деградации не наблюдалось: p95 %s, неудач %s.",
	"At N = %s (%s/s): %s.":                                 "При N = %s (%s/с): %s.",
	"No settings carry the load.":                           "Ни одни настройки не выдерживают нагрузку.",
	"Best: %s; as good to within %s, and the smallest: %s.": "Лучшие: %s; не хуже в пределах %s и наименьшие: %s.",
	"Done.": "Сделано.",
}

// russianTrials are why trials failed, and what they must meet.
var russianTrials = map[string]string{
	"%s of the %s/s offered were answered well in time, %s must be":                                                           "вовремя и верно отвечено на %s из предложенных %s/с, нужно %s",
	"the backlog grows: %s operations were due and not answered at the trial's beginning, %s at its end":                      "очередь растёт: в начале испытания без ответа было %s операций, в конце %s",
	"response times grow: the 95th percentile by %s over the load":                                                            "время отклика растёт: 95-й перцентиль на %s за время нагрузки",
	"%s of what is offered is answered well in time":                                                                          "вовремя и верно отвечено на %s предложенного",
	"runs that the generator spoiled were judged all the same":                                                                "прогоны, испорченные генератором, всё равно оценены",
	"trials that the generator spoiled were judged all the same":                                                              "испытания, испорченные генератором, всё равно оценены",
	"judged although the generator spoiled it":                                                                                "оценено, хотя генератор испортил прогон",
	"the backlog doesn't grow":                                                                                                "очередь не растёт",
	"a rehearsal: all durations are shortened to %s of what the campaign asks for":                                            "репетиция: все длительности сокращены до %s от заданных",
	"the 95th percentile of response times is %s, more than %s times that of the base line (%s at N %s) and at least %s more": "95-й перцентиль времени отклика %s, больше чем в %s раз выше базового (%s при N %s) и по меньшей мере на %s больше",
}
